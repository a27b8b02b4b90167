"""The bins of one run under each variant of the calibration error."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.figures.small_multiples import CALIBRATION_AXES, panel_axes, panels
from dashboard.figures.style import FAINT, OTHERS, PlotlyJson
from queries.which_ece import ErrorBin, ErrorVariant


def bins_figure(variants: Sequence[ErrorVariant], labels: Sequence[str], colour: str, *, forecasts: bool = False) -> PlotlyJson:
    """Draw a panel per variant: each bin from edge to edge at its accuracy, with a dot at its mean confidence.

    Open dots are bins that do not count.

    Args:
        variants: variants that have bins.
        labels: label of each variant.
        colour: colour of the run.
        forecasts: whether answers are forecasts.
    """
    stated, right = CALIBRATION_AXES[forecasts]
    data: list[PlotlyJson] = []
    for place, variant in enumerate(variants):
        axes = panel_axes(place)
        diagonal = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "hoverinfo": "skip", **axes}
        data.append({**diagonal, "line": {"color": FAINT, "width": 1}})
        for counts in (True, False):
            parts = [part for part in variant.bins if part.counted == counts]
            data.append(_steps(parts, axes, colour if counts else OTHERS))
            data.append(_dots(parts, axes, colour if counts else OTHERS, counts=counts))
    return panels(
        data,
        labels,
        x={"title": stated, "range": [-0.03, 1.03], "dtick": 0.25, "tickformat": ".2~f"},
        y={"title": right, "range": [-0.03, 1.06], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"},
        height=170,
    )


def _steps(parts: Sequence[ErrorBin], axes: dict[str, str], colour: str) -> PlotlyJson:
    """A line per bin, from edge to edge at its accuracy."""
    x = [value for part in parts for value in (part.lower, part.upper, None)]
    y = [value for part in parts for value in (part.accuracy, part.accuracy, None)]
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip", **axes, "line": {"color": colour, "width": 1.2},
    }  # fmt: skip


def _dots(parts: Sequence[ErrorBin], axes: dict[str, str], colour: str, *, counts: bool) -> PlotlyJson:
    most = max((part.items for part in parts), default=1)
    return {
        "type": "scatter", "mode": "markers",
        "x": [part.mean_confidence for part in parts], "y": [part.accuracy for part in parts],
        "customdata": [[f"{part.lower:.4g} to {part.upper:.4g}", part.items] for part in parts], **axes,
        "marker": {
            "size": [4 + 6 * (part.items / most) ** 0.5 for part in parts], "color": colour if counts else "rgba(0,0,0,0)",
            "line": {"color": colour, "width": 1.5},
        },
        "hovertemplate": (
            "%{customdata[0]}: %{customdata[1]:,} items<br>stated %{x:.3f}, true %{y:.3f}"
            f"{'' if counts else '<br>does not count'}<extra></extra>"
        ),
    }  # fmt: skip
