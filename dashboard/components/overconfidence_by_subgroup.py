"""Overconfidence of each run in the parts of a selection, as a figure and a table."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.overconfidence_by_subgroup import parts_figure
from queries.breakdown import Breakdown
from queries.metrics import CATALOGUE, Metric

GAP = CATALOGUE["overconfidence"]


def overconfidence_by_part(by: str, result: Breakdown, names: Mapping[str, str], colours: RunColours, gap: Metric) -> html.Figure:
    """Return overconfidence by category or radius.

    Args:
        by: "category" or "radius".
        result: breakdown of the metric ``GAP``, with intervals.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        gap: ``GAP``, as it is called in the dataset.
    """
    rows = [
        row(
            named(colours.get(run.run), f"{names[run.run]}, {part.value or 'not stated'}"),
            short(run.metrics[GAP.key].value),
            f"{short(run.metrics[GAP.key].low)} to {short(run.metrics[GAP.key].high)}",
            f"{run.questions:,}",
        )
        for part in result.parts
        for run in part.rows
    ]
    return figure(
        f"by-{by}",
        parts_figure(result, gap, names, colours),
        f"{gap.name} by {by}, with 95 % intervals. {gap.words}",
        table(["Run", gap.label, "95 % interval", "Questions"], rows, f"{gap.name} by {by}"),
        legend(names, names, colours),
    )
