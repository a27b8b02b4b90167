"""Reliability of each class: how often most people chose it, against the share that runs give it."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, legend
from dashboard.components.table import row, table
from dashboard.figures.human_votes import classes_figure
from queries.human_votes import People


def class_reliability(result: People, names: Mapping[str, str], colours: RunColours) -> html.Figure:
    """Return the figure and its table, a row per run, class and non-empty bin.

    Args:
        result: comparison with people, with the classes of runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    rows = [
        row(f"{names[run.run]}, {class_.name}", short(part.mean_share), short(part.chosen), f"{part.items:,}")
        for run in result.rows
        for class_ in run.classes
        for part in class_.bins
        if part.items
    ]
    return figure(
        "classes",
        classes_figure(result, names, colours),
        "Class by class: how often most people chose it, against the share that the run gives it; a line per run",
        table(["Run and class", "Mean share", "Chosen by most", "Items"], rows, "Reliability of each class"),
        legend(names, names, colours),
    )
