"""Colours, axes and layout that all figures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

INK, MUTED, FAINT, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--faint)", "var(--grid)", "var(--paper)"
PlotlyJson = dict[str, Any]  # a part of a figure, in Plotly's schema
OTHERS = "var(--run-other)"  # runs without a colour of their own
FONT = "Inter, system-ui, sans-serif"

# The legend in downloaded files; pages have their own, see components/figure.py.
LEGEND: PlotlyJson = {
    "orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "font": {"size": 12, "color": MUTED},
}  # fmt: skip


def plain(text: str) -> str:
    """Escape text for Plotly, which treats tags in labels and names as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str = "", **more: Any) -> PlotlyJson:
    """Return an axis with faint lines and no zero line."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": MUTED}, "standoff": 8},
        "tickfont": {"size": 11, "color": MUTED},
        "gridcolor": GRID, "linecolor": FAINT, "zeroline": False, "automargin": True, "fixedrange": True,
        "exponentformat": "none",
    } | more  # fmt: skip


def padded(values: Iterable[float | None], zero: bool = False) -> list[float]:
    """Return the range of an axis that shows these values.

    Every axis gets its range from here, because Plotly's own range depends on what the figure showed before.

    Args:
        values: values that are shown; None is ignored.
        zero: whether the axis also shows 0, and ends there if all values are on one side of it.

    Returns:
        Both ends, 5 % of the span beyond the values.
    """
    numbers = [value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = 0.05 * (high - low) or 1.0
    return [low if zero and low == 0 else low - room, high if zero and high == 0 and low < 0 else high + room]


def downwards(rows: int, room: float = 0.1) -> list[float]:
    """Return the range of an axis that counts rows from the top, with ``room``, in rows, above the first and below the last."""
    return [rows - 0.5 + room, -0.5 - room]


def layout(height: int, **more: Any) -> PlotlyJson:
    """Return a layout without decoration."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "minreducedheight": 20,  # of the plot, so that a figure of a single run keeps room for its axis labels
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": INK},
        "showlegend": False, "legend": LEGEND, "hovermode": "closest", "dragmode": False,
        "hoverlabel": {
            "bgcolor": PAPER, "bordercolor": FAINT, "font": {"family": FONT, "size": 12, "color": INK}, "align": "left",
        },
    } | more  # fmt: skip
