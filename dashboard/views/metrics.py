"""The metrics: what each one is, where it comes from, which axioms it satisfies, and what the papers leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component
from latex2mathml.converter import convert
from markupsafe import Markup

from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, column, columns, fields
from clueline.dashboard.registry.views import serve
from clueline.dashboard.ui.html import aria, facts, heading, section
from clueline.dashboard.ui.table import Cell, PageColumn, columns_by, html_table
from clueline.dashboard.ui.text import CURVE_NAMES
from clueline.queries import metric_definitions as definitions
from clueline.queries.interval_coverage_in_simulations import MeasuredClaim
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.published_values import Published, PublishedValue, published
from clueline.queries.selection.parameter_kinds import Choices
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

TABLES = tuple(table.key for table in published().tables)
PUBLISHED_METRICS = tuple(dict.fromkeys([*CATALOGUE, *(value.metric for value in published().values)]))


def _satisfied_axioms(entry: definitions.MetricDefinition) -> object:
    return (entry.axioms.satisfied or "none") if entry.axioms else None


DEFINITIONS = serve(
    "metrics",
    definitions.metric_definitions,
    NoParameters,
    "The catalogue: each metric's definition, source, axioms and caveat; and where papers contradict each other.",
    Table(
                "The metrics as CSV. Lists are separated by semicolons; `axioms` is blank if they do not apply.",
                rows=lambda answer: answer.metrics,
                columns=(
                    *columns(
                        "key", "family", "name", "label", "symbol", "direction", "low", "high", "formula", "words", "source",
                        "needs", "level", "human", "binned", "undefined", "caveat", "notes", "address", "fields",
                    ),
                    column("axioms", _satisfied_axioms),
                    column("axioms_where", lambda entry: getattr(entry.axioms, "where", None)),
                ),
            ),
    selected=False,
)  # fmt: skip


class PublishedKeys(Parameters, frozen=True):
    """Which published figures are listed."""

    metric: Annotated[tuple[str, ...], Choices("`ece`: figures of this metric; repeatable", PUBLISHED_METRICS)] = ()
    table: Annotated[tuple[str, ...], Choices("`grace-table-1`: figures from this table; repeatable", TABLES)] = ()


def _published(metric: tuple[str, ...], table: tuple[str, ...]) -> Published:
    """Return the published values of these metrics and tables; all where none is named."""
    metrics, tables = metric or PUBLISHED_METRICS, table or TABLES
    values = [value for value in published().values if value.metric in metrics and value.key in tables]
    named = {value.key for value in values}
    return Published([entry for entry in published().tables if entry.key in named], values)


PUBLISHED = serve(
    "published",
    _published,
    PublishedKeys,
    "Figures printed in papers, with their papers, tables and caveats.",
    Table("The figures as CSV.", lambda answer: answer.values, fields(PublishedValue)),
    selected=False,
)


ORDINALS = ("first", "second", "third", "fourth")
Inline = str | Component  # a part of a paragraph

EVERYWHERE_UNDEFINED = "no items are selected"  # true of every metric, so no definition says it

BEST = {"lower": "lower is better", "higher": "higher is better", "zero": "0 is best", "none": "not ranked"}


def metric_definition_section(entry: definitions.MetricDefinition, notes: Mapping[str, definitions.SourceNote]) -> html.Section:
    """Return the definition of a metric as a section. ``notes`` are on the papers, by key."""
    stated: dict[str, str | list[Inline] | None] = {
        "Source": entry.source,
        "Needs": ", ".join(entry.needs),
        "Human curve": f"{CURVE_NAMES[entry.human]}, unless another is chosen" if entry.human else None,
        "Axioms": _satisfied(entry),
        "Of forecasts": entry.of_forecasts,
        "Caveat": entry.caveat,
        "Missing": f"when {entry.undefined}" if entry.undefined != EVERYWHERE_UNDEFINED else None,
        "Where": _where(entry) if entry.address else None,
        "Papers": inline_links([(f"#note-{key}", notes[key].title) for key in entry.notes]) if entry.notes else None,
    }
    title = [
        html.A(entry.name, href=f"#{entry.key}", className="self"),
        html.Code(entry.key),
        html.Span(f"{BEST[entry.direction]}, {_range(entry)}", className="range"),
    ]
    return _section(entry.key, html.H3(title), html.P(entry.words), _formula(entry), facts(stated))


def _section(key: str, title: Component, *parts: Component | None) -> html.Section:
    return section(title, *parts, class_name="metric", id=key)


def _where(entry: definitions.MetricDefinition) -> list[Inline]:
    """The API address and fields of a metric that the leaderboard does not have."""
    fields = [part for field in entry.fields for part in (", ", html.Code(field))][1:]
    return [html.Code(entry.address), ": ", *fields]


def _formula(entry: definitions.MetricDefinition) -> Component:
    """The formula, typeset by the browser: LaTeX becomes MathML here."""
    latex = f"{entry.symbol} = {entry.formula}"
    mathml = convert(latex.replace(r"\arg\min", r"\operatorname{arg\,min}"))
    return html.Div(Markup(mathml), className="formula", title=latex)


def _range(entry: definitions.MetricDefinition) -> str:
    low, high = ("∞" if end is None else f"{end:g}".replace("-", "−") for end in (entry.low, entry.high))
    if entry.low is None:
        low = "−∞"
    return f"{'[' if entry.low is not None else '('}{low}, {high}{']' if entry.high is not None else ')'}"


def _satisfied(entry: definitions.MetricDefinition) -> list[Inline]:
    """The axioms that the metric satisfies, and a numeric counterexample for each of the others."""
    if entry.axioms is None:
        if entry.address:
            return ["not stated: it depends on a threshold"] if entry.direction != "none" else ["do not apply"]
        return ["not stated" if entry.direction != "none" else "do not apply: it calls no value better"]
    satisfied = ", ".join(entry.axioms.satisfied) or "none"
    where = f"; {entry.axioms.where}" if entry.axioms.where else ""
    counterexamples = [html.Span(_refuted(example), className="refuted") for example in entry.axioms.counterexamples]
    return [html.Span(satisfied, className="held"), where, *counterexamples]


def _refuted(example: definitions.RefutedAxiom) -> str:
    items = ", ".join(f"{c:g} {'right' if y == 1 else 'wrong'}" for c, y in example.items)
    changes = " and ".join(f"the {ORDINALS[index]} moves to {confidence:g}" for index, confidence in example.changes)
    before, after = (f"{value:.3g}".replace("-", "\u2212") for value in (example.before, example.after))
    outcome = f"stays {before}" if before == after else f"goes from {before} to {after}"
    return f"Not {example.axiom}: for {items}, the metric {outcome} when {changes}."


def inline_links(targets: Sequence[tuple[str, str]]) -> list[Inline]:
    """Return links with commas between them, from pairs of address and title."""
    links: list[Inline] = []
    for target, title in targets:
        links += [", ", html.A(title, href=target)]
    return links[1:]


def axioms_section(known: definitions.MetricDefinitions) -> html.Section:
    """Return the axioms in words, and Sakai's examples."""
    examples = [_example(example) for example in known.sakai]
    return _section("axioms", html.H2("Axioms"), html.P(known.axioms_reading), facts(known.axioms), *examples)


def _example(example: definitions.SakaiExample) -> html.Details:
    """A collapsible example: its systems with their values, and where a metric breaks an axiom."""
    original = example.systems[0].items
    titles = {metric.key: metric.label for metric in METRICS}

    def items(system: definitions.SakaiSystem) -> str:
        changed = [
            f"{'right' if correct else 'wrong'} {before:g} → {confidence:g}"
            for (before, _), (confidence, correct) in zip(original, system.items, strict=True)
            if before != confidence
        ]
        unchanged = [f"{confidence:g} {'right' if correct else 'wrong'}" for confidence, correct in original]
        return ", ".join(changed or unchanged)

    def value(key: str, system: definitions.SakaiSystem) -> Cell:
        broken = key in system.refuted
        return Cell(f"{system.values[key]:.3f}" + (" ✗" if broken else ""), f"breaks {system.axiom}" if broken else None)

    columns = [
        PageColumn("System", "system"),
        PageColumn("Axiom", lambda system: system.axiom or None),
        PageColumn("Instances", items),
        *columns_by({key: titles[key] for key in example.systems[0].values}, value),
    ]
    summary = html.Summary(f"Sakai's example {example.example}: X and three worse copies of it")
    note = "Three bins of equal mass, as in the paper. ✗: the metric calls the copy better than X or, for W, no worse."
    table = html_table(columns, example.systems, f"Sakai's example {example.example}")
    return html.Details([summary, table, html.P(note, className="note")])


def intervals_section(known: definitions.MetricDefinitions) -> html.Section:
    """Return a sentence on each kind of interval and test, with how often its claim held in simulations."""
    kinds: dict[str, Any] = {}
    for kind in known.uncertainty:
        claims = [claim for claim in known.measured if claim.claim in kind.claims]
        kinds[kind.name] = [kind.words, _measured(kind.name, claims)] if claims else kind.words
    lead = (
        "The unit is the question, because its clues are correlated, or a cluster of questions. Each claim was tested by "
        "simulating runs whose truth is known; the tables say how often it held. benchmarks/inference.py produces them."
    )
    return _section("intervals", html.H2("Intervals and tests"), html.P(lead), facts(kinds))


def _measured(name: str, claims: Sequence[MeasuredClaim]) -> html.Details:
    columns = [PageColumn(key.capitalize(), key) for key in ("claim", "setting")]
    numbers = {"Claimed": "nominal", "Measured": "measured", "Noise": "noise"}
    columns += [PageColumn(title, key, "{:.3f}".format) for title, key in numbers.items()]
    return html.Details([html.Summary("How often it held"), html_table(columns, claims, f"{name}: measured")])


def notes_section(notes: Sequence[definitions.SourceNote], titles: Mapping[str, str]) -> html.Section:
    """Return a section with an entry per note. ``titles`` names each metric by key, for links."""
    entries = []
    for note in notes:
        links = inline_links([(f"#{key}", titles[key]) for key in note.metrics])
        title = html.H3([note.title, html.Span(note.source, className="range")])
        metrics = html.P(links, className="links") if links else None
        entries.append(_section(f"note-{note.key}", title, html.P(note.text), metrics))
    return html.Section([html.H2("What the papers leave open, and what Clueline does", className="family"), *entries], id="notes")


@page("/metrics", "Metrics", PageParameters, place="Help", order=1, same_for_all=True)
def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """Draw a table of contents, the metrics by family, intervals and tests, the axioms, and the notes."""
    known = definitions.metric_definitions()
    titles = {entry.key: entry.name for entry in known.metrics}
    entries = [
        *(part for family in known.families for part in _family(family.key, known)),
        intervals_section(known),
        axioms_section(known),
        notes_section(known.notes, titles),
    ]
    return [
        heading(
            "Metrics",
            f"{len(known.metrics)} definitions, as computed here; c is a confidence, y a correctness, h the human curve, "
            "g = 2y − 1",
        ),
        html.Div([_contents(known), html.Div(entries, className="entries")], className="catalogue"),
    ]


def _contents(known: definitions.MetricDefinitions) -> html.Nav:
    lists: list[Component] = []
    for family in known.families:
        entries = [entry for entry in known.metrics if entry.family == family.key]
        lists += [
            html.P(html.A(family.title, href=f"#{family.key}")),
            html.Ul([html.Li(html.A(entry.label, href=f"#{entry.key}", title=entry.name)) for entry in entries]),
        ]
    after = (("Intervals and tests", "intervals"), ("Axioms", "axioms"), ("What the papers leave open", "notes"))
    lists.append(html.P([html.A(title, href=f"#{key}") for title, key in after]))
    return html.Nav(lists, className="contents", **aria(label="Metrics"))


def _family(key: str, known: definitions.MetricDefinitions) -> list[Component]:
    (family,) = (family for family in known.families if family.key == key)
    entries = [entry for entry in known.metrics if entry.family == key]
    if not entries:
        return []
    notes = {note.key: note for note in known.notes}
    return [
        html.H2([family.title, html.Span(family.words, className="lead")], id=key, className="family"),
        *(metric_definition_section(entry, notes) for entry in entries),
    ]
