"""Small multiples: several panels with common axes in one figure, which the browser arranges to fit its width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.figures.style import INK, MUTED, PlotlyJson, axis, layout, plain
from dashboard.name_shortening import distinct_short_names

CALIBRATION_AXES = {False: ("confidence", "share right"), True: ("probability of yes", "mean outcome")}  # by: are they forecasts
HEIGHT, WIDTH = 240, 250  # pixels of a panel, which is wider if the columns that fit leave room


def panel_axes(number: int) -> dict[str, str]:
    """Return the axes of a trace in a panel; panels are counted from 0."""
    suffix = "" if number == 0 else str(number + 1)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def panels(
    data: Sequence[PlotlyJson],
    titles: Sequence[str],
    x: PlotlyJson,
    y: PlotlyJson,
    height: int = HEIGHT,
    ranges: Sequence[list[float]] | None = None,
    **more: Any,
) -> PlotlyJson:
    """Return a figure with one panel per title.

    Args:
        data: traces, each with the axes of its panel.
        titles: a line above each panel.
        x, y: axes that all panels share. Their titles are shown once, below and to the left of the first column.
        height: height of a panel, in pixels.
        ranges: range of each panel's y axis, if they differ.
        more: other keys of the layout; shapes and annotations can refer to the panels' axes.
    """
    x, y = dict(x), dict(y)
    x_title, y_title = x.pop("title"), y.pop("title")
    axes: PlotlyJson = {}
    annotations: list[PlotlyJson] = []
    for number, (title, name) in enumerate(zip(titles, distinct_short_names(titles), strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        axes[f"xaxis{suffix}"] = axis(**x, anchor=f"y{suffix}", automargin=False)
        own: PlotlyJson = {"range": ranges[number]} if ranges else {}
        axes[f"yaxis{suffix}"] = axis(**y, **own, anchor=f"x{suffix}", automargin=False)
        annotations.append({
            "text": plain(name), "hovertext": plain(title), "showarrow": False, "font": {"size": 12, "color": INK},
            "xref": f"x{suffix} domain", "x": 0, "xanchor": "left",
            "yref": f"y{suffix} domain", "y": 1, "yanchor": "bottom", "yshift": 4,
        })  # fmt: skip
    shared: PlotlyJson = {"showarrow": False, "font": {"size": 12, "color": MUTED}, "name": "axis-title"}
    annotations.append(shared | {
        "text": plain(x_title), "xref": "x domain", "x": 0.5, "xanchor": "center", "yref": "paper", "y": 0, "yanchor": "top",
        "yshift": -20,
    })  # fmt: skip
    if y_title:
        annotations.append(shared | {
            "text": plain(y_title), "textangle": -90, "xref": "paper", "x": 0, "xanchor": "right", "xshift": -34,
            "yref": "y domain", "y": 0.5, "yanchor": "middle",
        })  # fmt: skip
    # With ``meta``, assets/figure_colours_and_size.js sets the panels' domains and the figure's height for the columns that fit.
    return {
        "data": list(data),
        "layout": layout(
            height,
            margin={"l": 54 if y_title else 34, "r": 10, "t": 26, "b": 44},
            **axes,
            annotations=[*annotations, *more.pop("annotations", [])],
            meta={"panels": len(titles), "width": WIDTH, "height": height},
            **more,
        ),
    }
