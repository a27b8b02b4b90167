"""Reliability diagrams of each model on each dataset: a field per pair, all on one pair of axes."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from dashboard.figures.style import FAINT, GRID, INK, PlotlyJson, axis, layout, plain
from dashboard.name_shortening import distinct_short_names
from queries.across import Across, AcrossDiagram
from queries.engine.reliability_diagrams import ReliabilityBin

COLUMN, ROW = 1.12, 1.32  # distance between fields, in units of confidence and accuracy: each row has a name above it
ROW_HEIGHT = 100  # pixels
MAX_NAME_LENGTH, LINE = 46, 12  # characters of a model's name, and of a line of a dataset's name
MAX_DATASETS = 12  # drawn at most; more would have no room
LEVEL, UPRIGHT = 6, 20  # with more datasets than this, their names are vertical; characters of a vertical name
COLOURS = ("var(--run-1)", "var(--run-2)")  # bins that are under- or well calibrated, and overconfident ones


def across_diagrams_figure(result: Across, diagrams: Sequence[AcrossDiagram]) -> PlotlyJson:
    """Draw a row per model and a column per dataset.

    In each field, confidence runs from 0 on the left to 1 on the right, and accuracy from 0 at the bottom to 1 at the top. Each
    bin is a dot with the interval of its accuracy; its size grows with the share of the run's items in the bin.

    Args:
        result: models and datasets of the figure, of which the first ``MAX_DATASETS`` datasets are drawn.
        diagrams: diagrams of its runs.
    """
    columns = result.datasets[:MAX_DATASETS]
    by_run = {diagram.run: diagram for diagram in diagrams}
    fields = [
        (column * COLUMN, -line * ROW, by_run[cell.run], row.model, place.title)
        for line, row in enumerate(result.rows)
        for column, place in enumerate(columns)
        if (cell := row.cells.get(place.dataset)) is not None and cell.run in by_run
    ]
    titles = [column.title for column in columns]
    datasets = ["<br>".join(map(plain, wrap(title, LINE, max_lines=3))) for title in titles]
    if len(titles) > LEVEL:
        datasets = [plain(title) for title in distinct_short_names(titles, UPRIGHT)]
    models = [
        plain(name) for name in distinct_short_names([f"{row.model} · {row.elicitation}" for row in result.rows], MAX_NAME_LENGTH)
    ]
    frames: PlotlyJson = {
        "type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": {"color": GRID, "width": 1},
        "x": [end for x, *_ in fields for end in (x, x + 1, x + 1, x, x, None)],
        "y": [end for _, y, *_ in fields for end in (y, y, y + 1, y + 1, y, None)],
    }  # fmt: skip
    diagonals: PlotlyJson = {
        "type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": {"color": FAINT, "width": 1},
        "x": [end for x, *_ in fields for end in (x, x + 1, None)], "y": [end for _, y, *_ in fields for end in (y, y + 1, None)],
    }  # fmt: skip
    return {
        "data": [frames, diagonals, *(_bins(fields, over) for over in (False, True))],
        "layout": layout(
            max(220, ROW_HEIGHT * len(models) + 90),
            xaxis=axis(
                showgrid=False, range=[-0.04, COLUMN * len(datasets) - 0.06], tickfont={"size": 11, "color": INK}, side="top",
                tickangle=-90 if len(datasets) > LEVEL else 0,
                tickvals=[COLUMN * place + 0.5 for place in range(len(datasets))], ticktext=datasets,
            ),
            yaxis=axis(showgrid=False, range=[0.94 - ROW * (len(models) - 1) - 1, ROW], showticklabels=False),
            annotations=[
                {"text": name, "x": 0, "y": 1 - ROW * place, "xanchor": "left", "yanchor": "bottom", "showarrow": False,
                 "font": {"size": 11, "color": INK}}
                for place, name in enumerate(models)
            ],
        ),
    }  # fmt: skip


def _bins(fields: Sequence[tuple[float, float, AcrossDiagram, str, str]], overconfident: bool) -> PlotlyJson:
    """The bins of all fields: either those whose accuracy is below their confidence, or all others."""
    dots = [
        (x, y, bin_, bin_.items / sum(other.items for other in diagram.bins), f"{plain(model)}<br>{plain(title)}")
        for x, y, diagram, model, title in fields
        for bin_ in diagram.bins
        if bin_.items and is_overconfident(bin_) == overconfident
    ]
    colour = COLOURS[overconfident]
    accuracies = [bin_.accuracy or 0.0 for _, _, bin_, *_ in dots]
    ends = [(bin_.low, bin_.high) for _, _, bin_, *_ in dots]
    return {
        "type": "scatter", "mode": "markers", "name": "overconfident" if overconfident else "not overconfident",
        "x": [x + (bin_.mean_confidence or 0.0) for x, _, bin_, *_ in dots],
        "y": [y + accuracy for (_, y, *_), accuracy in zip(dots, accuracies, strict=True)],
        "marker": {
            "size": [4 + 7 * share**0.5 for *_, share, _ in dots], "color": colour, "line": {"width": 0},
            "symbol": "diamond" if overconfident else "circle",
        },
        "error_y": {
            "type": "data", "symmetric": False, "color": colour, "thickness": 1, "width": 0,
            "array": [0.0 if high is None else high - value for (_, high), value in zip(ends, accuracies, strict=True)],
            "arrayminus": [0.0 if low is None else value - low for (low, _), value in zip(ends, accuracies, strict=True)],
        },
        "customdata": [
            [name, round(bin_.mean_confidence or 0.0, 3), round(bin_.accuracy or 0.0, 3), bin_.items]
            for _, _, bin_, _, name in dots
        ],
        "hovertemplate": (
            "%{customdata[0]}<br>confidence %{customdata[1]:.3f}, accuracy %{customdata[2]:.3f}<br>"
            "%{customdata[3]:,} items<extra></extra>"
        ),
    }  # fmt: skip


def is_overconfident(bin_: ReliabilityBin) -> bool:
    """Whether the accuracy of a non-empty bin is below its mean confidence."""
    return (bin_.accuracy or 0.0) < (bin_.mean_confidence or 0.0)
