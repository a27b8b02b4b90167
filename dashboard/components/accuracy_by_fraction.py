"""Accuracy of runs and people over the fraction of the question revealed, as a figure and a table."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.difficulty import revealed_figure
from queries.buzzing import FractionAccuracy


def fraction_accuracy(result: FractionAccuracy, names: Mapping[str, str], colours: RunColours) -> html.Figure | None:
    """A row per run, and one per human team or group of teams; None where there is nothing to draw.

    Args:
        result: of the selection.
        names: run id to what it is called.
        colours: run id to colour.
    """
    if result.missing or not result.runs:
        return None
    marks = [fraction.revealed for fraction in result.runs[0].fractions]
    rows = [
        row(
            named(colours.get(run.run), names[run.run]),
            *(short(fraction.accuracy) for fraction in run.fractions),
        )
        for run in result.runs
    ]
    rows += [
        row(teams.name, *(short(fraction.right) for fraction in teams.fractions))
        for teams in result.teams
        if teams.kind == "human"
    ]
    return figure(
        "revealed",
        revealed_figure(result, names, colours),
        "Accuracy of the answer that stands when so much of the question is revealed, beside the human teams that have answered "
        "correctly by then",
        table(["Run", *(f"{mark:.0%}" for mark in marks)], rows, "Accuracy by fraction revealed"),
        legend(names, names, colours, "Human teams" if any(teams.kind == "human" for teams in result.teams) else ""),
    )
