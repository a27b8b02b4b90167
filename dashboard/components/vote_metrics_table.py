"""Metrics of runs against the votes of people."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.common_questions import answered
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import table
from queries.leaderboard import Leaderboard
from queries.metrics.catalogue import VOTES


def vote_metrics_table(board: Leaderboard, names: Mapping[str, str], colours: RunColours) -> html.Div:
    """Return the metrics against votes of each ranked run.

    Args:
        board: leaderboard with the metrics ``VOTES``.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    ranked = [run for run in board.rows if run.ranked]
    shown = [metric for metric in VOTES if any(run.metrics[metric.key].value is not None for run in ranked)]
    rows = []
    for run in ranked:
        cells = [html.Td(answered(run.answered, board.questions), className="number")]
        for metric in shown:
            cell = run.metrics[metric.key]
            interval = f"{short(cell.low)} to {short(cell.high)}" if cell.low is not None else cell.missing or ""
            cells.append(html.Td(short(cell.value), className="number", title=f"{metric.name}: {interval}"))
        rows.append(html.Tr([html.Th(named(colours.get(run.run), names[run.run]), scope="row"), *cells]))
    return table(["Run", "Answered", *(metric.label for metric in shown)], rows, "Metrics against human votes")
