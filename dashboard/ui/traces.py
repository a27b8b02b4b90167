"""Traces of figures, in Plotly's schema, and figures over two axes that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dashboard.ui.figure import FAINT, PlotlyJson, layout

UNIT: PlotlyJson = {"range": [-0.02, 1.02], "dtick": 0.25, "tickformat": ".2~f"}  # an axis from 0 to 1
QUARTERS: PlotlyJson = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"}  # the ticks of one that goes further
CLEAR = "rgba(0,0,0,0)"  # the colour of open dots


def lines(x: object, y: object, hover: str = "", mode: str = "lines", **more: Any) -> PlotlyJson:
    """Return a line. ``hover`` is shown when it is pointed at; ``more`` is added to the trace."""
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **_pointed_at(hover)} | more


def dots(
    x: object, y: object, hover: str, colour: object, size: object, mark: PlotlyJson | None = None, **more: Any
) -> PlotlyJson:
    """Return dots; ``mark`` is added to the style of each. For ``hover`` and ``more`` see ``lines``."""
    return lines(x, y, hover, **{"mode": "markers", "marker": {"size": size, "color": colour} | (mark or {})} | more)


def bars(x: object, y: object, hover: str, marker: PlotlyJson, **more: Any) -> PlotlyJson:
    """Return bars. For ``hover`` and ``more`` see ``lines``."""
    return {"type": "bar", "x": x, "y": y, "marker": marker, **_pointed_at(hover)} | more


def _pointed_at(hover: str) -> PlotlyJson:
    return {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}


def band(x: object, low: object, high: object) -> list[PlotlyJson]:
    """Return the area between two lines."""
    bottom, top = (lines(x, y, line={"width": 0, "color": FAINT}) for y in (low, high))
    return [bottom, top | {"fill": "tonexty", "fillcolor": "var(--band)"}]


def segments(rows: Iterable[tuple[object, float | None, float | None]], width: float, colour: str = FAINT) -> PlotlyJson:
    """Return a level line for each row: its place on the y axis, and where it starts and ends."""
    listed = [*rows]
    x = [value for _, start, end in listed for value in (start, end, None)]
    y = [value for place, _, _ in listed for value in (place, place, None)]
    return lines(x, y, line={"color": colour, "width": width})


def drawn(data: Sequence[PlotlyJson], height: int, x: PlotlyJson, y: PlotlyJson, **more: Any) -> PlotlyJson:
    """Return a figure of traces over two axes; ``more`` are other keys of its layout."""
    return {"data": [*data], "layout": layout(height, xaxis=x, yaxis=y, **more)}
