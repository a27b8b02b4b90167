"""The metrics: what each one is, where it comes from, what it satisfies, and what the papers leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component
from latex2mathml.converter import convert
from markupsafe import Markup

from dashboard.components.attributes import aria
from dashboard.components.numbers import CURVE_NAMES
from dashboard.components.table import row, table
from dashboard.view import PageParameters, PageRequest, View, register
from queries.metric_definitions import MetricDefinition, MetricDefinitions, RefutedAxiom, SourceNote, metric_definitions
from queries.metrics import METRICS
from queries.sakai_examples import SakaiExample
from queries.uncertainty import MeasuredClaim

NOTHING = "no items are selected"  # needs no telling
BEST = {"lower": "lower is better", "higher": "higher is better", "zero": "0 is best", "none": "not ranked"}


def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """A table of contents, the metrics by family, the axioms, the notes."""
    known = metric_definitions()
    titles = {entry.key: entry.name for entry in known.metrics}
    return [
        html.Div([html.H1("Metrics"), html.P(_lead(known), className="lead")], className="heading"),
        html.Div(
            [
                _contents(known),
                html.Div(
                    [
                        *(part for family in known.families for part in _family(family.key, known)),
                        _uncertainty(known),
                        _axioms(known),
                        _notes(known.notes, titles),
                    ],
                    className="entries",
                ),
            ],
            className="catalogue",
        ),
    ]


def _lead(known: MetricDefinitions) -> str:
    return (
        f"{len(known.metrics)} definitions, as computed here; c is a confidence, y a correctness, h the human curve, g = 2y − 1"
    )


def _contents(known: MetricDefinitions) -> html.Nav:
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


def _family(key: str, known: MetricDefinitions) -> list[Component]:
    (family,) = (family for family in known.families if family.key == key)
    entries = [entry for entry in known.metrics if entry.family == key]
    if not entries:
        return []
    notes = {note.key: note for note in known.notes}
    return [
        html.H2([family.title, html.Span(family.words, className="lead")], id=key, className="family"),
        *(_entry(entry, notes) for entry in entries),
    ]


def _entry(entry: MetricDefinition, notes: dict[str, SourceNote]) -> html.Section:
    facts: dict[str, Any] = {
        "Source": entry.source,
        "Needs": ", ".join(entry.needs),
        "Human curve": f"{CURVE_NAMES[entry.human]}, unless another is chosen" if entry.human else None,
        "Axioms": _satisfied(entry),
        "Caveat": entry.caveat,
        "Missing": f"where {entry.undefined}" if entry.undefined != NOTHING else None,
        "Where": _where(entry) if entry.address else None,
        "Papers": _links([(f"#note-{key}", notes[key].title) for key in entry.notes]) if entry.notes else None,
    }
    return html.Section(
        [
            html.H3(
                [
                    html.A(entry.name, href=f"#{entry.key}", className="self"),
                    html.Code(entry.key),
                    html.Span(f"{BEST[entry.direction]}, {_range(entry)}", className="range"),
                ]
            ),
            html.P(entry.words),
            _formula(entry),
            html.Dl([part for name, value in facts.items() if value for part in (html.Dt(name), html.Dd(value))]),
        ],
        id=entry.key,
        className="metric",
    )


def _where(entry: MetricDefinition) -> list[Any]:
    """Where it is given: not by the leaderboard."""
    fields = [part for field in entry.fields for part in (", ", html.Code(field))][1:]
    return [html.Code(entry.address), ": ", *fields]


def _formula(entry: MetricDefinition) -> Component:
    """The formula, typeset by the browser: LaTeX becomes MathML here."""
    latex = f"{entry.symbol} = {entry.formula}"
    mathml = convert(latex.replace(r"\arg\min", r"\operatorname{arg\,min}"))
    return html.Div(Markup(mathml), className="formula", title=latex)


def _range(entry: MetricDefinition) -> str:
    low, high = ("∞" if end is None else f"{end:g}".replace("-", "−") for end in (entry.low, entry.high))
    if entry.low is None:
        low = "−∞"
    return f"{'[' if entry.low is not None else '('}{low}, {high}{']' if entry.high is not None else ')'}"


def _satisfied(entry: MetricDefinition) -> list[Any]:
    """Which axioms it satisfies, and in numbers how it breaks the others."""
    if entry.axioms is None:
        if entry.address:
            return ["not stated: it depends on a threshold"] if entry.direction != "none" else ["do not apply"]
        return ["not stated" if entry.direction != "none" else "do not apply: it calls no value better"]
    satisfied = ", ".join(entry.axioms.satisfied) or "none"
    where = f"; {entry.axioms.where}" if entry.axioms.where else ""
    counterexamples = [html.Span(_refuted(example), className="refuted") for example in entry.axioms.counterexamples]
    return [html.Span(satisfied, className="held"), where, *counterexamples]


def _refuted(example: RefutedAxiom) -> str:
    items = ", ".join(f"{c:g} {'right' if y == 1 else 'wrong'}" for c, y in example.items)
    changes = " and ".join(f"the {_ordinal(index)} to {confidence:g}" for index, confidence in example.changes)
    before, after = (f"{value:.3g}".replace("-", "\u2212") for value in (example.before, example.after))
    outcome = f"stays {before}" if before == after else f"goes from {before} to {after}"
    return f"Not {example.axiom}: stated {items}; {changes}, and it {outcome}."


def _ordinal(index: int) -> str:
    return ("first", "second", "third", "fourth")[index]


def _axioms(known: MetricDefinitions) -> html.Section:
    definitions = html.Dl([part for name, words in known.axioms.items() for part in (html.Dt(name), html.Dd(words))])
    examples = [_sakai(example) for example in known.sakai]
    return html.Section(
        [html.H2("Axioms"), html.P(known.axioms_reading), definitions, *examples], id="axioms", className="metric"
    )


def _sakai(example: SakaiExample) -> html.Details:
    """An example that opens: its systems with their values, and those of X's copies that break the axiom."""
    original = example.systems[0].items
    titles = {metric.key: metric.label for metric in METRICS}
    rows = []
    for system in example.systems:
        changed = [
            f"{'right' if correct else 'wrong'} {before:g} → {confidence:g}"
            for (before, _), (confidence, correct) in zip(original, system.items, strict=True)
            if before != confidence
        ]
        items = ", ".join(f"{confidence:g} {'right' if correct else 'wrong'}" for confidence, correct in original)
        values = [
            html.Td(
                f"{value:.3f}" + (" ✗" if key in system.refuted else ""),
                className="number",
                title=f"breaks {system.axiom}" if key in system.refuted else "",
            )
            for key, value in system.values.items()
        ]
        rows.append(
            html.Tr(
                [html.Th(system.system, scope="row"), html.Td(system.axiom or "–"), html.Td(", ".join(changed) or items), *values]
            )
        )
    head = ["System", "Axiom", "Instances", *(titles[key] for key in example.systems[0].values)]
    summary = html.Summary(f"Sakai's example {example.example}: X and three worse copies of it")
    note = "Three bins of equal mass, as in the paper. ✗: the copy is called better than X, or in W no worse."
    return html.Details([summary, table(head, rows, f"Sakai's example {example.example}"), html.P(note, className="note")])


def _uncertainty(known: MetricDefinitions) -> html.Section:
    """Each kind of interval and test in a sentence, with how often it held in simulations."""
    parts: list[Component] = []
    for kind in known.uncertainty:
        claims = [claim for claim in known.measured if claim.claim in kind.claims]
        parts += [html.Dt(kind.name), html.Dd([kind.words, _measured(kind.name, claims)] if claims else kind.words)]
    lead = (
        "The unit is always the question: the clues of one question hang together. What is claimed was simulated, with runs of "
        "which the truth is known; the tables say how often it held. benchmarks/inference.py makes them."
    )
    return html.Section([html.H2("Intervals and tests"), html.P(lead), html.Dl(parts)], id="intervals", className="metric")


def _measured(name: str, claims: Sequence[MeasuredClaim]) -> html.Details:
    rows = [
        row(claim.claim, html.Span(claim.setting), f"{claim.nominal:.3f}", f"{claim.measured:.3f}", f"{claim.noise:.3f}")
        for claim in claims
    ]
    return html.Details(
        [
            html.Summary("How often it held"),
            table(["Claim", "Setting", "Claimed", "Measured", "Noise"], rows, f"{name}: measured"),
        ]
    )


def _notes(notes: Sequence[SourceNote], titles: dict[str, str]) -> html.Section:
    entries = [
        html.Section(
            [
                html.H3([note.title, html.Span(note.source, className="range")]),
                html.P(note.text),
                html.P(_links([(f"#{key}", titles[key]) for key in note.metrics]), className="links") if note.metrics else None,
            ],
            id=f"note-{note.key}",
            className="metric",
        )
        for note in notes
    ]
    return html.Section([html.H2("What the papers leave open, and what is done here", className="family"), *entries], id="notes")


def _links(targets: Sequence[tuple[str, str]]) -> list[Any]:
    links: list[Any] = []
    for target, title in targets:
        links += [", ", html.A(title, href=target)]
    return links[1:]


VIEW = register(
    View(name="metrics", path="/metrics", title="Metrics", place=95, draw=draw, parameters=PageParameters, filters=())
)
