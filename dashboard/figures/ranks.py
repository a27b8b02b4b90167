"""Ranks of runs across metrics: lines cross where metrics disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.rank_agreement import SIDE
from dashboard.figures.run_labels_and_lines import end_labels, label_margin, run_labels, run_line
from dashboard.figures.style import INK, MUTED, OTHERS, PlotlyJson, axis, layout, plain
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import Metric

ROW = 26  # pixels per rank
MAX_HEIGHT = 560  # pixels
AXIS = 48  # pixels below and above the axis of ranks


def ranks_figure(
    board: Leaderboard, metrics: Sequence[Metric], names: Mapping[str, str], colours: Mapping[str, str]
) -> PlotlyJson:
    """Draw a line per run over the metrics, at its rank by each, with the interval of the rank as a bar.

    Args:
        board: leaderboard with intervals.
        metrics: metrics that rank.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    highlighted = [row for row in board.rows if row.run in colours]
    labels = run_labels(names, [row.run for row in highlighted])
    # At least as high as the heat map next to it; with very many runs, lines are closer together.
    height = max(260, min(ROW * len(board.rows) + 100, MAX_HEIGHT), SIDE * len(metrics) + 90)
    bottom, top = len(board.rows) + 0.6, 0.4
    # Bars of neighbouring runs are side by side and do not overlap.
    offsets = {row.run: 0.36 * (index / max(len(highlighted) - 1, 1) - 0.5) for index, row in enumerate(highlighted)}
    data = []
    for row in sorted(board.rows, key=lambda row: row.run in colours):
        cells = [row.metrics[metric.key] for metric in metrics]
        colour = colours.get(row.run, OTHERS)
        texts = [
            f"{metric.name} = {cell.value:.3f}" if cell.value is not None else ""
            for metric, cell in zip(metrics, cells, strict=True)
        ]
        data.append({
            "type": "scatter", "mode": "lines+markers", "name": plain(names[row.run]), "meta": row.run, "connectgaps": True,
            "x": [index + offsets.get(row.run, 0) for index in range(len(metrics))], "y": [cell.rank for cell in cells],
            "line": run_line(colours, row.run), "marker": {"size": 8 if row.run in colours else 3, "color": colour},
            "error_y": {
                "type": "data", "symmetric": False, "thickness": 1, "width": 0, "color": colour,
                "visible": row.run in colours,
                "array": [_over(cell.rank, cell.rank_high) for cell in cells],
                "arrayminus": [-_over(cell.rank, cell.rank_low) for cell in cells],
            },
            "customdata": [[text, _interval(cell.rank_low, cell.rank_high)] for text, cell in zip(texts, cells, strict=True)],
            "hovertemplate": "%{fullData.name}<br>%{customdata[0]}<br>rank %{y:.1~f} %{customdata[1]}<extra></extra>",
            "cliponaxis": False, "showlegend": row.run in colours,
        })  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            height,
            margin=label_margin(list(labels.values())),
            annotations=end_labels(_ends(highlighted, metrics, labels, colours), bottom, top, height - AXIS),
            xaxis=axis(
                tickvals=list(range(len(metrics))), ticktext=[plain(metric.label) for metric in metrics], showgrid=False,
                tickfont={"size": 11, "color": INK}, range=[-0.4, len(metrics) - 0.6],
            ),
            yaxis=axis("rank", range=[bottom, top], dtick=1 if len(board.rows) <= 12 else 5, tick0=0, color=MUTED),
        ),
    }  # fmt: skip


def _ends(
    rows: Sequence[LeaderboardRow], metrics: Sequence[Metric], labels: Mapping[str, str], colours: Mapping[str, str]
) -> list[tuple[str, float, str]]:
    """Label, rank by the last metric that ranks it, and colour of each run."""
    ranks = {row.run: [row.metrics[metric.key].rank for metric in metrics] for row in rows}
    last = {run: [rank for rank in values if rank is not None][-1:] for run, values in ranks.items()}
    return [(labels[run], rank, colours[run]) for run, values in last.items() for rank in values]


def _over(rank: float | None, end: float | None) -> float:
    return 0.0 if rank is None or end is None else end - rank


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:g}, {high:g}]"
