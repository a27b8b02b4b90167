"""Overconfidence of each run by radius or by category, a panel per part."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.figures.run_labels_and_lines import Names
from dashboard.figures.small_multiples import panel_axes, panels
from dashboard.figures.style import MUTED, OTHERS, PlotlyJson, plain
from queries.breakdown import Breakdown, BreakdownPart
from queries.metrics import Metric

ROW = 17  # pixels per run of a part


def parts_figure(breakdown: Breakdown, metric: Metric, names: Names, colours: Names) -> PlotlyJson:
    """Draw a panel per part: the metric of each run with its 95 % interval, 0 as a line. Runs in grey share the lowest row.

    Args:
        breakdown: breakdown with intervals.
        metric: the metric.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    runs = list(dict.fromkeys(row.run for part in breakdown.parts for row in part.rows))
    rows = {run: index for index, run in enumerate(run for run in runs if run in colours)}
    lowest = len(rows)
    data = [
        _dots(part, metric.key, place, names, colours, {run: rows.get(run, lowest) for run in runs})
        for place, part in enumerate(breakdown.parts)
    ]
    lines = lowest + (len(rows) < len(runs))
    return panels(
        data,
        [f"{part.value or 'not stated'} · {part.questions:,}" for part in breakdown.parts],
        x={
            "title": metric.name,
            "range": _range(breakdown, metric.key),
            "zeroline": True,
            "zerolinecolor": MUTED,
            "tickformat": ".2~f",
            "nticks": 5,
        },
        y={"title": "", "range": [lines - 0.4, -0.6], "showticklabels": False, "showgrid": False},
        height=ROW * lines + 30,
    )


def _dots(part: BreakdownPart, metric: str, place: int, names: Names, colours: Names, rows: Mapping[str, int]) -> PlotlyJson:
    cells = [(index, row, row.metrics[metric]) for index, row in enumerate(part.rows) if row.metrics[metric].value is not None]
    values = [cell.value or 0.0 for _, _, cell in cells]
    highs = [cell.high if cell.high is not None else value for value, (_, _, cell) in zip(values, cells, strict=True)]
    lows = [cell.low if cell.low is not None else value for value, (_, _, cell) in zip(values, cells, strict=True)]
    shown = [row.run for _, row, _ in cells]
    shades = [colours.get(run, OTHERS) for run in shown]
    intervals = [f"[{low:.3f}, {high:.3f}]" for low, high in zip(lows, highs, strict=True)]
    spans: dict[str, list[float]] = {
        "array": [high - value if run in colours else 0 for run, high, value in zip(shown, highs, values, strict=True)],
        "arrayminus": [value - low if run in colours else 0 for run, low, value in zip(shown, lows, values, strict=True)],
    }
    return {
        "type": "scatter", "mode": "markers", "x": values, "y": [rows[row.run] for _, row, _ in cells], **panel_axes(place),
        "meta": {"runs": [row.run for _, row, _ in cells]},
        "marker": {"size": [8 if row.run in colours else 5 for _, row, _ in cells], "color": shades},
        "error_x": {"type": "data", "symmetric": False, "thickness": 1.2, "width": 0, "color": MUTED, **spans},
        "customdata": [[plain(names[row.run]), interval] for (_, row, _), interval in zip(cells, intervals, strict=True)],
        "hovertemplate": "%{customdata[0]}<br>%{x:.3f} %{customdata[1]}<extra></extra>", "cliponaxis": False,
    }  # fmt: skip


def _range(breakdown: Breakdown, metric: str) -> list[float]:
    cells = [row.metrics[metric] for part in breakdown.parts for row in part.rows]
    ends = [end for cell in cells for end in (cell.low, cell.high, cell.value) if end is not None] or [0.0]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    margin = 0.05 * (high - low or 1)
    return [low - margin, high + margin]
