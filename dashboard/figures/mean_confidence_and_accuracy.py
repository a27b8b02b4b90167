"""Accuracy and mean confidence of each run on one line: the gap between them is over- or underconfidence."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from dashboard.figures.style import FAINT, INK, OTHERS, PlotlyJson, axis, layout, plain
from dashboard.name_shortening import distinct_short_names
from queries.leaderboard import Leaderboard

ROW, MORE = 26, 14  # pixels per run, and for each further line of the longest name
LINE = 22  # characters of a name on one line
MAX_NAME_LENGTH = 60  # characters of a name
MAX_SPACED_RUNS = 16  # with more runs, each name has one line, as close as lines of text
DENSE_ROW = 18  # pixels per run in that case


def gap_figure(board: Leaderboard, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw a dumbbell per run: a filled dot at its accuracy, a ring at its mean confidence, in the order of the board's rows.

    Args:
        board: leaderboard with ``accuracy`` and ``mean_confidence``.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    rows = [row for row in board.rows if row.metrics["accuracy"].value is not None]
    dense = len(rows) > MAX_SPACED_RUNS
    texts = distinct_short_names([names[row.run] for row in rows], LINE if dense else MAX_NAME_LENGTH)
    labels = [plain(text) if dense else _lines(text) for text in texts]
    places = list(range(len(rows)))
    lines = max((label.count("<br>") for label in labels), default=0)
    accuracy = [row.metrics["accuracy"].value for row in rows]
    confidence = [row.metrics["mean_confidence"].value for row in rows]
    shades = [colours.get(row.run, OTHERS) for row in rows]
    between: dict[str, list[float | int | None]] = {"x": [], "y": []}
    for place, low, high in zip(places, accuracy, confidence, strict=True):
        between["x"] += [low, high, None]
        between["y"] += [place, place, None]
    common = {
        "type": "scatter", "mode": "markers", "y": places, "cliponaxis": False,
        "customdata": [plain(names[row.run]) for row in rows],
    }  # fmt: skip
    return {
        "data": [
            {"type": "scatter", "mode": "lines", **between, "line": {"color": FAINT, "width": 3}, "hoverinfo": "skip"},
            {
                **common, "x": accuracy, "name": "Accuracy", "marker": {"size": 11, "color": shades},
                "hovertemplate": "%{customdata}<br>accuracy %{x:.3f}<extra></extra>",
            },
            {
                **common, "x": confidence, "name": "Mean confidence",
                "marker": {"size": 11, "color": "rgba(0,0,0,0)", "line": {"color": shades, "width": 2.5}},
                "hovertemplate": "%{customdata}<br>mean confidence %{x:.3f}<extra></extra>",
            },
        ],
        "layout": layout(
            (DENSE_ROW if dense else ROW + MORE * lines) * len(rows) + 64,
            xaxis=axis("● accuracy  ○ confidence", range=[0, 1], dtick=0.2),
            yaxis=axis(
                range=[len(rows) - 0.4, -0.6], tickvals=places, ticktext=labels, showgrid=False,
                tickfont={"size": 12, "color": INK},
            ),
        ),
    }  # fmt: skip


def _lines(name: str) -> str:
    """A name wrapped into lines, so that the figure has room on a small screen; long words are not broken."""
    lines = textwrap.wrap(name, LINE, break_long_words=False, break_on_hyphens=False)
    return " <br>".join(plain(line) for line in lines) or plain(name)  # the space before each break keeps words separate
