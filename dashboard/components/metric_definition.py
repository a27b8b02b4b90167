"""The definition of a metric: its formula, range, source, axioms and caveat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component
from latex2mathml.converter import convert
from markupsafe import Markup

from dashboard.components.numbers import CURVE_NAMES
from queries.metric_definitions import MetricDefinition, RefutedAxiom, SourceNote

Inline = str | Component  # a part of a paragraph

EVERYWHERE_UNDEFINED = "no items are selected"  # true of every metric, so no definition says it

BEST = {"lower": "lower is better", "higher": "higher is better", "zero": "0 is best", "none": "not ranked"}


def metric_definition_section(entry: MetricDefinition, notes: Mapping[str, SourceNote]) -> html.Section:
    """Return the definition of a metric as a section.

    Args:
        entry: the definition.
        notes: notes on the papers, by key.
    """
    facts: dict[str, str | list[Inline] | None] = {
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


def _where(entry: MetricDefinition) -> list[Inline]:
    """The API address and fields of a metric that the leaderboard does not have."""
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


def _satisfied(entry: MetricDefinition) -> list[Inline]:
    """The axioms that the metric satisfies, and a numeric counterexample for each of the others."""
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
    changes = " and ".join(f"the {_ordinal(index)} moves to {confidence:g}" for index, confidence in example.changes)
    before, after = (f"{value:.3g}".replace("-", "\u2212") for value in (example.before, example.after))
    outcome = f"stays {before}" if before == after else f"goes from {before} to {after}"
    return f"Not {example.axiom}: for {items}, the metric {outcome} when {changes}."


def _ordinal(index: int) -> str:
    return ("first", "second", "third", "fourth")[index]


def inline_links(targets: Sequence[tuple[str, str]]) -> list[Inline]:
    """Return links with commas between them, from pairs of address and title."""
    links: list[Inline] = []
    for target, title in targets:
        links += [", ", html.A(title, href=target)]
    return links[1:]
