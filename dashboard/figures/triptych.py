"""ROC and Murphy curves, the plane of miscalibration and discrimination, smooth diagrams, and confidence when right or wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dashboard.figures.run_labels_and_lines import Names, grey_first, run_line
from dashboard.figures.small_multiples import CALIBRATION_AXES, panel_axes, panels
from dashboard.figures.style import FAINT, MUTED, OTHERS, PlotlyJson, axis, layout, padded, plain
from queries.triptych import BINS, RunTriptych

HEIGHT = 340  # pixels
ISOLINES = 7  # lines of equal Brier score in the plane, at most
DIGITS = 5  # significant digits of what is drawn


def roc_figure(runs: Sequence[RunTriptych], names: Names, colours: Mapping[str, str]) -> PlotlyJson:
    """Draw ROC curves as dots at every confidence, and their concave hulls as lines; runs in grey have only their hull."""
    by_id = {run.run: run for run in runs}
    data: list[PlotlyJson] = [_diagonal({"xaxis": "x", "yaxis": "y"})]
    for run_id in grey_first([*by_id], colours):
        run = by_id[run_id]
        shared: PlotlyJson = {"type": "scatter", "meta": run_id, "showlegend": run_id in colours, "name": plain(names[run_id])}
        if run_id in colours and run.roc:
            data.append({
                **shared, "mode": "markers", "x": _rounded(x for x, _ in run.roc), "y": _rounded(y for _, y in run.roc),
                "marker": {"size": 3.5, "color": colours[run_id]}, "hoverinfo": "skip", "showlegend": False,
            })  # fmt: skip
        data.append({
            **shared, "mode": "lines", "x": _rounded(x for x, _ in run.hull), "y": _rounded(y for _, y in run.hull),
            "line": run_line(colours, run_id),
            "hovertemplate": "%{fullData.name}<br>%{y:.0%} of the right and %{x:.0%} of the wrong answers above<extra></extra>",
        })  # fmt: skip
    share = {"range": [-0.02, 1.02], "dtick": 0.25, "tickformat": ".0%"}
    return {
        "data": data,
        "layout": layout(
            HEIGHT, xaxis=axis("share of the wrong answers", **share), yaxis=axis("share of the right answers", **share)
        ),
    }


def murphy_panel(
    runs: Sequence[RunTriptych], thresholds: Sequence[float], names: Names, colours: Mapping[str, str]
) -> PlotlyJson:
    """Draw the Murphy curves of the runs."""
    by_id = {run.run: run for run in runs}
    data = [
        {
            "type": "scatter", "mode": "lines", "meta": run, "name": plain(names[run]), "line": run_line(colours, run),
            "showlegend": run in colours, "x": [*thresholds], "y": _rounded(by_id[run].murphy),
            "hovertemplate": "%{fullData.name}<br>t = %{x:.2f}: %{y:.3f}<extra></extra>",
        }
        for run in grey_first([*by_id], colours)
    ]  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            xaxis=axis("t", range=[-0.01, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=axis("mean elementary score", range=padded((value for run in runs for value in run.murphy), zero=True)),
        ),
    }


def plane_figure(runs: Sequence[RunTriptych], names: Names, colours: Mapping[str, str]) -> PlotlyJson:
    """Draw miscalibration against discrimination, a dot and its intervals per run, and lines of equal Brier score.

    The lines are those at the mean uncertainty.
    """
    shown = [run for run in runs if run.mcb is not None and run.dsc is not None and run.unc is not None]
    x = [value for run in shown for value in (run.mcb, run.mcb_low, run.mcb_high) if value is not None]
    y = [value for run in shown for value in (run.dsc, run.dsc_low, run.dsc_high) if value is not None]
    x_range, y_range = padded(x, zero=True), padded(y, zero=True)
    data: list[PlotlyJson] = []
    annotations: list[PlotlyJson] = []
    uncertainty = float(np.mean([run.unc or 0.0 for run in shown])) if shown else 0.0
    for score in _round_values(uncertainty + x_range[0] - y_range[1], uncertainty + x_range[1] - y_range[0]):
        # brier = mcb - dsc + unc: dsc = mcb + unc - brier.
        rise = uncertainty - score
        data.append({
            "type": "scatter", "mode": "lines", "x": x_range, "y": [value + rise for value in x_range],
            "name": f"Brier {score:g}",
            "line": {"color": FAINT, "width": 1, "dash": "dot"}, "hoverinfo": "skip", "showlegend": False,
        })  # fmt: skip
        at = min(x_range[1], y_range[1] - rise)
        if at > x_range[0] and at + rise > y_range[0]:
            annotations.append({
                "text": f"{score:g}", "x": at, "y": at + rise, "showarrow": False, "xanchor": "right", "yanchor": "top",
                "font": {"size": 10, "color": MUTED},
            })  # fmt: skip
    for run in shown:
        data.append({
            "type": "scatter", "mode": "markers", "x": [run.mcb], "y": [run.dsc], "name": plain(names[run.run]), "meta": run.run,
            "marker": {"size": 9, "color": colours.get(run.run, OTHERS)}, "showlegend": run.run in colours,
            "customdata": [run.brier], "cliponaxis": False,
            "error_x": _whisker(run.mcb, run.mcb_low, run.mcb_high), "error_y": _whisker(run.dsc, run.dsc_low, run.dsc_high),
            "hovertemplate": "%{fullData.name}<br>MCB %{x:.4f}, DSC %{y:.4f}, Brier %{customdata:.4f}<extra></extra>",
        })  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            xaxis=axis("miscalibration (MCB), less is better", range=x_range),
            yaxis=axis("discrimination (DSC), more is better", range=y_range),
            annotations=annotations,
        ),
    }


def _whisker(value: float | None, low: float | None, high: float | None) -> PlotlyJson:
    """Return the error bar of a value; a bar without length where there is no interval."""
    value = value or 0.0
    ends = {"array": [0.0 if high is None else high - value], "arrayminus": [0.0 if low is None else value - low]}
    return {"type": "data", "symmetric": False, **ends, "thickness": 1, "width": 0}


def _round_values(low: float, high: float) -> list[float]:
    """A few round numbers between two numbers."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s <= ISOLINES), 1.0)
    first = int(np.ceil(low / step))
    return [round(number * step, 6) for number in range(first, int(high / step) + 1)]


def smooth_figure(
    runs: Sequence[RunTriptych], names: Names, colours: Mapping[str, str], *, forecasts: bool = False
) -> PlotlyJson:
    """Draw a panel per run: the smooth reliability diagram. ``forecasts``: whether answers are forecasts."""
    stated, right = CALIBRATION_AXES[forecasts]
    data: list[PlotlyJson] = []
    for place, run in enumerate(runs):
        axes = panel_axes(place)
        data.append(_diagonal(axes))
        data.append({
            "type": "scatter", "mode": "lines",
            "x": _rounded(run.smooth.confidence), "y": _rounded(run.smooth.accuracy), "meta": run.run,
            "line": {"color": colours.get(run.run, OTHERS), "width": 2}, **axes,
            "hovertemplate": "stated %{x:.3f}: true %{y:.3f}<extra></extra>",
        })  # fmt: skip
    return panels(
        data,
        [names[run.run] for run in runs],
        x={"title": stated, "range": [-0.02, 1.02], "dtick": 0.25, "tickformat": ".2~f"},
        y={"title": right, "range": [-0.02, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"},
        height=180,
    )


def discrimination_figure(runs: Sequence[RunTriptych], names: Names, colours: Mapping[str, str]) -> PlotlyJson:
    """Draw a panel per run: how confident it is when right (above the line) and when wrong (below)."""
    data: list[PlotlyJson] = []
    centres = [(place + 0.5) / BINS for place in range(BINS)]
    for place, run in enumerate(runs):
        for shares, sign, colour, noun in (
            (run.right, 1, colours.get(run.run, OTHERS), "right"),
            (run.wrong, -1, MUTED, "wrong"),
        ):
            data.append({
                "type": "bar", "x": centres, "y": _rounded(sign * share for share in shares),
                "width": 0.9 / BINS, "meta": run.run,
                "customdata": _rounded(shares), "marker": {"color": colour, "line": {"width": 0}}, **panel_axes(place),
                "hovertemplate": f"%{{customdata:.1%}} of the {noun} answers around %{{x:.3f}}<extra></extra>",
            })  # fmt: skip
    most = max((share for run in runs for share in (*run.right, *run.wrong)), default=0.0) or 1.0
    return panels(
        data,
        [names[run.run] for run in runs],
        x={"title": "confidence", "range": [-0.02, 1.02], "dtick": 0.25, "tickformat": ".2~f"},
        y={"title": "share: right above, wrong below", "range": [-1.08 * most, 1.08 * most], "showticklabels": False},
        height=150,
        barmode="relative",
        bargap=0,
    )


def _diagonal(axes: Mapping[str, str]) -> PlotlyJson:
    line = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "hoverinfo": "skip", "showlegend": False}
    return {**line, "line": {"color": FAINT, "width": 1}, **axes}


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DIGITS}g}") for value in values]
