"""Mean confidence against accuracy, run by run."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import row, table
from dashboard.figures.mean_confidence_and_accuracy import gap_figure
from queries.leaderboard import Leaderboard
from queries.metrics import CATALOGUE

ACCURACY_AND_CONFIDENCE = (CATALOGUE["accuracy"], CATALOGUE["mean_confidence"])


def confidence_gap(board: Leaderboard, names: Mapping[str, str], colours: RunColours) -> html.Figure:
    """Return the figure and its table.

    Args:
        board: leaderboard with ``ACCURACY_AND_CONFIDENCE``.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    rows = [
        row(
            named(colours.get(run.run), names[run.run]),
            *(short(run.metrics[metric.key].value) for metric in ACCURACY_AND_CONFIDENCE),
        )
        for run in board.rows
    ]
    return figure(
        "gap",
        gap_figure(board, names, colours),
        "Confidence against accuracy: a ring to the right of its dot means overconfidence, to the left underconfidence",
        table(["Run", *(metric.name for metric in ACCURACY_AND_CONFIDENCE)], rows, "Confidence and accuracy"),
    )
