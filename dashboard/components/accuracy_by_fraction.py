"""Accuracy of runs and people by the fraction of the question revealed, as a figure and a table."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.accuracy_by_fraction import revealed_figure
from queries.buzzing import FractionAccuracy

WITH_TEAM_SHARE = "with the share of human teams that have answered correctly by then"


def fraction_accuracy(result: FractionAccuracy, names: Mapping[str, str], colours: RunColours) -> html.Figure | None:
    """Return the figure and its table, a row per run and per human team or group of teams; None if there is nothing to draw.

    Args:
        result: accuracy of the selection.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
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
    people = [teams for teams in result.teams if teams.kind == "human"]
    guessing = any(fraction.accuracy is not None for teams in people for fraction in teams.fractions)
    rows += [
        row(teams.name, *(short(fraction.accuracy if guessing else fraction.right) for fraction in teams.fractions))
        for teams in people
    ]
    return figure(
        "revealed",
        revealed_figure(result, names, colours),
        "Accuracy of the current answer by share of the question revealed, "
        + ("for runs and for the players of the human collection" if guessing else WITH_TEAM_SHARE),
        table(["Run", *(f"{mark:.0%}" for mark in marks)], rows, "Accuracy by fraction revealed"),
        legend(names, names, colours, ("People" if guessing else "Human teams") if people else ""),
    )
