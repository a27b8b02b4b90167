"""Two runs compared, question by question and metric by metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dashboard.figures.style import FAINT, INK, MUTED, OTHERS, PlotlyJson, axis, downwards, layout, padded, plain
from dashboard.name_shortening import MAX_NAME_LENGTH, distinct_short_names
from queries.compare import Comparison
from queries.metrics import Metric
from queries.question_differences import QuestionDifferences, QuestionDot

WIDE = 44  # characters of an axis title that fit on one line of a small screen


def scatter_figure(
    dots: Sequence[QuestionDot], metric: Metric, link: str, names: tuple[str, str], colours: tuple[str, str]
) -> PlotlyJson:
    """Draw a dot per question: the metric of ``a`` across, that of ``b`` up, in the colour of the better run.

    Args:
        dots: the questions.
        metric: metric that is compared.
        link: address of a question, with ``ID`` in place of its id; a click on a dot opens it.
        names: names of a and b.
        colours: colours of a and b.
    """
    a, b = np.array([dot.a for dot in dots]), np.array([dot.b for dot in dots])
    better = metric.loss(b) - metric.loss(a)  # above 0: a is better
    shades = np.where(better > 0, colours[0], np.where(better < 0, colours[1], OTHERS))
    both = np.concatenate([a, b])
    ends = [float(both.min(initial=np.inf)), float(both.max(initial=-np.inf))]
    margin = 0.05 * (ends[1] - ends[0]) or 0.05
    labels = distinct_short_names(names, MAX_NAME_LENGTH)
    span = [ends[0] - margin, ends[1] + margin]
    return {
        "data": [
            {"type": "scatter", "mode": "lines", "x": span, "y": span, "line": {"color": FAINT, "width": 1}, "hoverinfo": "skip"},
            {
                "type": "scatter", "mode": "markers", "x": a.tolist(), "y": b.tolist(), "meta": {"link": link},
                "marker": {"size": 7, "color": shades.tolist(), "opacity": 0.7},
                "customdata": [dot.question_id for dot in dots], "text": [plain(dot.question_id) for dot in dots],
                "hovertemplate": "%{text}<br>across %{x:.3f}, up %{y:.3f}<extra></extra>",
            },
        ],
        "layout": layout(
            420,
            xaxis=axis(f"{metric.label} of {plain(labels[0])}", range=span),
            yaxis=axis(f"{metric.label} of {plain(labels[1])}", range=span),
        ),
    }  # fmt: skip


def differences_figure(sides: QuestionDifferences, metric: Metric, colours: tuple[str, str]) -> PlotlyJson:
    """Draw a histogram of a - b over questions; bars have the colour of the better run.

    Args:
        sides: differences of the two runs.
        metric: metric by which they are compared.
        colours: colours of both runs.
    """
    edges = np.linspace(-sides.widest, sides.widest, len(sides.differences) + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    falls = {"lower": -1, "higher": 1, "zero": 0, "none": 0}[metric.direction]
    shades = [colours[0] if falls * x > 1e-12 else colours[1] if falls * x < -1e-12 else OTHERS for x in middles]
    return {
        "data": [
            {
                "type": "bar", "x": middles.tolist(), "y": sides.differences, "width": float(edges[1] - edges[0]),
                "marker": {"color": shades}, "hovertemplate": "difference about %{x:.3f}: %{y:,} questions<extra></extra>",
            }
        ],
        "layout": layout(
            420,
            bargap=0,
            xaxis=axis(
                f"difference of {metric.label}, first − second", range=[-sides.widest, sides.widest], zeroline=True,
                zerolinecolor=MUTED,
            ),
            yaxis=axis("questions", range=padded(sides.differences, zero=True)),
        ),
    }  # fmt: skip


def forest_figure(
    comparison: Comparison, metrics: Sequence[Metric], names: tuple[str, str], colours: tuple[str, str]
) -> PlotlyJson:
    """Draw the difference in each metric with its interval, in units of the interval's half width, so that all fit on one axis.

    Metrics whose best value is 0 are left out: the sign of a difference does not say which run is better.

    Args:
        comparison: comparison of the runs by the metrics.
        metrics: the rows, from the top.
        names, colours: names and colours of both runs.
    """
    ordered = [metric for metric in metrics if metric.direction in ("lower", "higher")]
    shown = [(metric, comparison.metrics[metric.key]) for metric in ordered if comparison.metrics[metric.key].low is not None]
    rows: list[PlotlyJson] = []
    for metric, difference in shown:
        half = ((difference.high or 0.0) - (difference.low or 0.0)) / 2 or 1.0
        turn = -1.0 if metric.direction == "higher" else 1.0  # below 0, the first run is better
        low, high = sorted((turn * (difference.low or 0.0) / half, turn * (difference.high or 0.0) / half))
        rows.append(
            {
                "label": metric.label,
                "x": turn * (difference.difference or 0.0) / half,
                "low": low,
                "high": high,
                "one": difference,
            }
        )
    labels = [plain(row["label"]) for row in rows]
    ends = padded(row[key] for row in rows for key in ("low", "x", "high"))
    favours = [f"{plain(label)} better" for label in distinct_short_names(names, MAX_NAME_LENGTH)]
    gap = "    " if sum(map(len, favours)) <= WIDE else "<br>"
    tones = {comparison.a.run: colours[0], comparison.b.run: colours[1]}
    shades = [tones.get(row["one"].better or "", OTHERS) for row in rows]
    return {
        "data": [
            {
                "type": "scatter", "mode": "markers", "x": [row["x"] for row in rows], "y": labels,
                "marker": {"size": 9, "color": shades}, "cliponaxis": False,
                "error_x": {
                    "type": "data", "symmetric": False, "thickness": 1.4, "width": 0, "color": INK,
                    "array": [row["high"] - row["x"] for row in rows],
                    "arrayminus": [row["x"] - row["low"] for row in rows],
                },
                "customdata": [
                    f"{row['one'].difference:.4f} [{row['one'].low:.4f}, {row['one'].high:.4f}]"
                    + ("" if row["one"].p_holm is None else f", adjusted p = {row['one'].p_holm:.3g}")
                    for row in rows
                ],
                "hovertemplate": "%{y}: %{customdata}<extra></extra>",
            }
        ],
        "layout": layout(
            22 * len(rows) + 60,
            xaxis=axis(
                f"← {favours[0]}{gap}{favours[1]} →", range=ends, zeroline=True, zerolinecolor=MUTED, showticklabels=False,
            ),
            yaxis=axis(range=downwards(len(rows)), type="category", showgrid=False, tickfont={"size": 12, "color": INK}),
        ),
    }  # fmt: skip
