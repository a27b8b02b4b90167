"""Small multiples: several panels on common axes in one figure, which the browser lays out to fit the width it has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from dashboard.figures.style import INK, PlotlyJson, axis, layout, plain

HEIGHT, WIDTH = 240, 250  # of a panel, in pixels; it is wider where the columns that fit leave room
LONGEST = 40  # characters of a panel's title
MOST = 60  # panels of one figure; a browser takes seconds to draw more


def panel_axes(number: int) -> dict[str, str]:
    """The axes of a trace in a panel, counted from 0."""
    suffix = "" if number == 0 else str(number + 1)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def fitting(titles: Sequence[str]) -> list[str]:
    """Titles no longer than a panel is wide: of longer ones their beginning and their end; of those that this does not tell
    apart, what comes after the words that they begin with together.
    """
    shortened = [_cut(title) for title in titles]
    for cut in set(shortened):
        alike = {title: title.split(" ") for title, other in zip(titles, shortened, strict=True) if other == cut}
        shared = len(list(takewhile(lambda words: len(set(words)) == 1, zip(*alike.values(), strict=False))))
        for index, title in enumerate(titles):
            if title in alike and len(alike) > 1:
                shortened[index] = f"…{' '.join(alike[title][shared:])[: LONGEST - 1]}"
    return shortened


def _cut(title: str) -> str:
    if len(title) <= LONGEST:
        return title
    end = LONGEST // 2
    return f"{title[: LONGEST - end - 1].rstrip()}…{title[-end:].lstrip()}"


def panels(
    data: Sequence[PlotlyJson],
    titles: Sequence[str],
    x: PlotlyJson,
    y: PlotlyJson,
    height: int = HEIGHT,
    ranges: Sequence[list[float]] | None = None,
    **more: Any,
) -> PlotlyJson:
    """A figure of one panel per title.

    Args:
        data: traces, each with the axes of its panel.
        titles: one line above each panel.
        x, y: the axes that all have in common.
        height: of a panel, in pixels.
        ranges: of the y axis of each panel, where they differ.
        more: of the layout; shapes and annotations may refer to panels' axes.
    """
    axes: PlotlyJson = {}
    annotations: list[PlotlyJson] = []
    for number, (title, short) in enumerate(zip(titles, fitting(titles), strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        axes[f"xaxis{suffix}"] = axis(**x, anchor=f"y{suffix}", automargin=False)
        own: PlotlyJson = {"range": ranges[number]} if ranges else {}
        axes[f"yaxis{suffix}"] = axis(**y, **own, anchor=f"x{suffix}", automargin=False)
        annotations.append({
            "text": plain(short), "hovertext": plain(title), "showarrow": False, "font": {"size": 12, "color": INK},
            "xref": f"x{suffix} domain", "x": 0, "xanchor": "left",
            "yref": f"y{suffix} domain", "y": 1, "yanchor": "bottom", "yshift": 4,
        })  # fmt: skip
    # ``meta`` tells assets/figures.js to set the panels' domains and the figure's height for the columns that fit.
    return {
        "data": list(data),
        "layout": layout(
            height,
            margin={"l": 34, "r": 10, "t": 26, "b": 26},
            **axes,
            annotations=[*annotations, *more.pop("annotations", [])],
            meta={"panels": len(titles), "width": WIDTH, "height": height},
            **more,
        ),
    }
