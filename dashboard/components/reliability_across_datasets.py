"""The reliability diagram of each model on each dataset, and its bins as a table."""

from __future__ import annotations

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH, short
from dashboard.components.table import table
from dashboard.figures.reliability_across_datasets import MAX_DATASETS, across_diagrams_figure
from queries.across import Across, AcrossDiagrams

CAPTION = (
    "Each field is a reliability diagram: confidence from 0 (left) to 1 (right), accuracy from 0 (bottom) to 1 (top). One mark "
    "per bin, larger with more items, with the 95 % interval of its accuracy: ◆ overconfident, ● not. Of forecasts, they show "
    "probability of yes and mean outcome"
)


def diagrams_section(result: Across, diagrams: AcrossDiagrams) -> html.Section:
    """Return the figure and its table.

    Args:
        result: models and datasets that are shown.
        diagrams: diagrams of its runs.
    """
    titles = {column.dataset: column.title for column in result.datasets}
    rows = [
        html.Tr(
            [
                html.Th(f"{diagram.model} · {diagram.elicitation}", scope="row"),
                html.Td(titles[diagram.dataset]),
                html.Td(DASH if bin_.lower is None or bin_.upper is None else f"{bin_.lower:g} to {bin_.upper:g}"),
                html.Td(f"{bin_.items:,}", className="number"),
                html.Td(short(bin_.mean_confidence), className="number"),
                html.Td(short(bin_.accuracy), className="number"),
                html.Td(f"{short(bin_.low)} to {short(bin_.high)}" if bin_.low is not None else DASH, className="number"),
            ]
        )
        for diagram in diagrams.diagrams
        for bin_ in diagram.bins
        if bin_.items
    ]
    head = ["Model", "Dataset", "Bin", "Items", "Mean confidence", "Accuracy", "95 % interval"]
    drawn = across_diagrams_figure(result, diagrams.diagrams)
    left_out = ""
    if len(result.datasets) > MAX_DATASETS:
        left_out = f"The first {MAX_DATASETS} of {len(result.datasets)} datasets are drawn. Choose others above."
    return html.Section(
        [
            html.H2("Reliability of each model on each dataset"),
            html.P(left_out, className="note") if left_out else None,
            figure("across-diagrams", drawn, CAPTION, table(head, rows, "Bins by model and dataset")),
        ],
        className="section",
    )
