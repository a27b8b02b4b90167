"""Ranks of runs across metrics, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.rank_agreement import agreement_figure
from dashboard.figures.ranks import ranks_figure
from queries.leaderboard import Leaderboard
from queries.metrics import Metric
from queries.rank_agreement import rank_correlations


def rankings(board: Leaderboard, ranked: Sequence[Metric], names: Mapping[str, str], colours: RunColours) -> html.Div:
    """Return the ranks of the runs by each metric, and Kendall's tau-b between the metrics, as figures and tables.

    Args:
        board: leaderboard, its rows in the order to draw.
        ranked: metrics that rank.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    # The page already has the values that /api/v1/agreement would read.
    values = {metric.key: np.array([run.metrics[metric.key].value for run in board.rows], dtype=float) for metric in ranked}
    agreed = rank_correlations(ranked, values)
    ranks = [
        row(named(colours.get(run.run), names[run.run]), *(short(run.metrics[metric.key].rank, 1) for metric in ranked))
        for run in board.rows
    ]
    agreement = [row(pair.a, pair.b, short(pair.tau), f"{pair.runs}") for pair in agreed]
    return html.Div(
        [
            figure(
                "ranks",
                ranks_figure(board, ranked, names, colours),
                "Rank by each metric, best on top; bars: ranks in 95 % of replicates, for each run by itself",
                table(["Run", *(metric.label for metric in ranked)], ranks, "Ranks"),
                legend([row.run for row in board.rows], names, colours),
            ),
            figure(
                "agreement",
                agreement_figure(agreed, ranked),
                "Kendall's tau-b between rankings: 1 is the same order, −1 the opposite",
                table(["Metric", "Metric", "tau-b", "Runs"], agreement, "Agreement of rankings"),
            ),
        ],
        className="side-by-side wide-left",
    )
