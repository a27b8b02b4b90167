"""What recalibration does to single items: which gain and which lose."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from dashboard.figures.small_multiples import panel_axes, panels
from dashboard.figures.style import FAINT, OTHERS, PlotlyJson, padded
from queries.recalibration import Recalibration


def changes_figure(recalibration: Recalibration, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw a panel per run: how many items come nearer to their correctness (left of 0) and how many move away (right of 0)."""
    shown = [run for run in recalibration.runs if run.missing is None]
    data: list[PlotlyJson] = []
    for number, run in enumerate(shown):
        total = sum(run.changes) or 1
        data.append({
            "type": "bar", "x": [(low + high) / 2 for low, high in pairwise(run.edges)], "width": run.edges[1] - run.edges[0],
            "y": [count / total for count in run.changes], "customdata": run.changes, **panel_axes(number),
            "marker": {"color": colours.get(run.run, OTHERS), "line": {"color": FAINT, "width": 0}},
            "hovertemplate": "change %{x:.3f}: %{customdata:,} items (%{y:.1%})<extra></extra>",
        })  # fmt: skip
    return panels(
        data,
        [names[run.run] for run in shown],
        x={"title": "change of distance", "range": [-1, 1], "dtick": 0.5, "tickformat": ".2~f"},
        y={"title": "share of items", "tickformat": ".0%"},
        height=150,
        ranges=[padded(trace["y"], zero=True) for trace in data],
        bargap=0,
    )
