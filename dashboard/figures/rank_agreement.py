"""How far metrics agree on the order of the runs."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.components.numbers import short
from dashboard.figures.style import INK, PlotlyJson, axis, downwards, layout, plain
from queries.metrics import Metric
from queries.rank_agreement import RankCorrelation

SIDE = 30  # pixels per metric
NAMED = 14  # metrics; with more, numbers in the fields would be too small


def agreement_figure(correlations: Sequence[RankCorrelation], metrics: Sequence[Metric]) -> PlotlyJson:
    """Draw a field per pair of metrics: tau-b from -1 (orange) over 0 to 1 (blue), with its number; blank if undefined.

    The colour scale extends beyond -1 and 1, so that the numbers are readable on every colour.
    """
    labels = [plain(metric.label) for metric in metrics]
    place = {metric.key: index for index, metric in enumerate(metrics)}
    taus: list[list[float | None]] = [[None] * len(metrics) for _ in metrics]
    for pair in correlations:
        taus[place[pair.a]][place[pair.b]] = taus[place[pair.b]][place[pair.a]] = pair.tau
    text = [["" if tau is None else short(tau, 1) for tau in line] for line in taus]
    return {
        "data": [
            {
                "type": "heatmap", "z": taus, "x": labels, "y": labels, "zmin": -1.5, "zmax": 1.5, "showscale": False,
                "xgap": 1, "ygap": 1,
                "colorscale": [[0, "var(--run-2)"], [0.5, "var(--ground)"], [1, "var(--run-1)"]],
                "text": text, "texttemplate": "%{text}" if len(metrics) <= NAMED else "", "textfont": {"size": 10, "color": INK},
                "hovertemplate": "%{x}, %{y}: tau-b = %{z:.3f}<extra></extra>", "hoverongaps": False,
            }
        ],
        "layout": layout(
            max(260, SIDE * len(metrics) + 90),
            xaxis=axis(showgrid=False, range=[-0.5, len(metrics) - 0.5], tickfont={"size": 11, "color": INK}, tickangle=-40),
            yaxis=axis(showgrid=False, range=downwards(len(metrics), 0), tickfont={"size": 11, "color": INK}),
        ),
    }  # fmt: skip
