"""The axioms of metrics, with examples in which metrics break them."""

from __future__ import annotations

from dash import html

from dashboard.components.table import table
from queries.axiom_examples import SakaiExample
from queries.metric_definitions import MetricDefinitions
from queries.metrics import METRICS


def axioms_section(known: MetricDefinitions) -> html.Section:
    """Return the axioms in words, and Sakai's examples."""
    definitions = html.Dl([part for name, words in known.axioms.items() for part in (html.Dt(name), html.Dd(words))])
    examples = [_example(example) for example in known.sakai]
    return html.Section(
        [html.H2("Axioms"), html.P(known.axioms_reading), definitions, *examples], id="axioms", className="metric"
    )


def _example(example: SakaiExample) -> html.Details:
    """A collapsible example: its systems with their values, and where a metric breaks an axiom."""
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
    note = "Three bins of equal mass, as in the paper. ✗: the metric calls the copy better than X or, for W, no worse."
    return html.Details([summary, table(head, rows, f"Sakai's example {example.example}"), html.P(note, className="note")])
