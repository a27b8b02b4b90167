"""The smallest detectable difference, by the number of questions."""

from __future__ import annotations

import math

from dashboard.figures.style import INK, MUTED, PlotlyJson, axis, layout, padded
from queries.power import MetricPower

TICKS = (10, 30, 100, 300, 1000, 3000, 10000)


def power_figure(result: MetricPower) -> PlotlyJson:
    """Draw a falling curve over a logarithmic axis, a dot at the present number of questions, a line at the stated difference."""
    questions, differences = [size for size, _ in result.curve], [difference for _, difference in result.curve]
    present = [result.questions] if result.detectable is not None else []
    ends = [math.log10(min([*questions, *present])), math.log10(max([*questions, *present]))]
    wanted = [] if result.target is None else [result.target]
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines", "x": questions, "y": differences,
                "line": {"color": "var(--run-1)", "width": 2},
                "hovertemplate": "%{x:,} questions detect %{y:.3f}<extra></extra>",
            },
            {
                "type": "scatter", "mode": "markers", "x": present, "y": [result.detectable] if present else [],
                "marker": {"color": "var(--run-1)", "size": 10, "line": {"color": INK, "width": 1}},
                "hovertemplate": "these %{x:,} questions detect %{y:.3f}<extra></extra>",
            },
        ],
        "layout": layout(
            260,
            xaxis=axis("Questions", type="log", range=[ends[0] - 0.05, ends[1] + 0.05], tickvals=list(TICKS)),
            yaxis=axis("Detectable difference", range=padded([*differences, *wanted, result.detectable], zero=True)),
            shapes=[
                {
                    "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": target, "y1": target,
                    "line": {"color": MUTED, "width": 1, "dash": "dot"},
                }
                for target in wanted
            ],
        ),
    }  # fmt: skip
