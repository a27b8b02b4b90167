"""How large a difference the questions can show."""

from __future__ import annotations

import math

from dash import html

from dashboard.ui.controls import difference_menu
from dashboard.ui.figure import INK, MUTED, PlotlyJson, axis, figure, layout, padded
from dashboard.ui.numbers import short
from dashboard.ui.table import row, table
from data.plurals import counted
from queries.engine.equivalence import Equivalence
from queries.metrics import Metric
from queries.power import MAX_QUESTIONS, MetricPower


def power_section(result: MetricPower, metric: Metric, equivalence: Equivalence | None) -> html.Section | None:
    """Return the detectable difference in words and as a curve, and whether the runs are equal within a margin.

    If the metric has no standard error, only the reason is left why nothing can be said of the margin; None without a margin.
    ``equivalence`` is None where no margin is stated.
    """
    if result.error is None:
        return html.Section(html.P(equality_sentence(result, equivalence), className="note")) if equivalence else None
    rows = [row(f"{questions:,}", difference_text(difference)) for questions, difference in result.curve]
    return html.Section(
        [
            html.H2(f"How many questions does it take, by {metric.name}?"),
            html.P(power_sentence(result)),
            html.Div(
                [
                    difference_menu("d", "Difference that matters to you", result.target),
                    difference_menu("margin", "Equal if they differ by less than", result.margin),
                ],
                className="controls",
            ),
            html.P(equality_sentence(result, equivalence)) if equivalence else None,
            figure(
                "power",
                power_figure(result),
                "Smallest difference detected with 80 % power, by the number of questions. Dot: these questions"
                + ("" if result.target is None else "; dotted: the difference that matters to you"),
                table(["Questions", "Difference"], rows, "Detectable difference by number of questions"),
            ),
            html.P(
                "Two-sided t-test at 5 %, with the spread over the questions that both answered. This assumes that "
                "further questions resemble these. State the difference before looking at the measured one: how many questions a "
                "measured difference needs only repeats its p-value. /api/v1/power takes any difference (d=0.02) and metric.",
                className="note",
            ),
        ],
        className="section",
    )


def power_sentence(result: MetricPower) -> str:
    """Say which difference the questions could have shown, and how many questions the difference needs that the reader states."""
    questions = counted(result.questions, "question")
    if result.units != result.questions:
        questions += f" in {counted(result.units, 'cluster')}"
    if result.detectable is None:
        first = f"With {questions}, no difference can be detected, however large."
    else:
        first = (
            f"With {questions}, a difference of {difference_text(result.detectable)} would have been detected with 80 % power."
        )
    if result.target is None:
        return first
    return f"{first} Detecting {difference_text(result.target)} takes {_needed(result.needed)}."


def equality_sentence(result: MetricPower, equivalence: Equivalence) -> str:
    """Say whether the runs are equal within the margin, and how many questions it takes to show that, or the contrary."""
    margin = difference_text(result.margin or 0.0)
    if equivalence.verdict is None:
        verdict = f"Whether they are equal within {margin} is undefined, because {equivalence.undefined}."
    else:
        low, high = (difference_text(end or 0.0) for end in (equivalence.low, equivalence.high))
        verdict = f"With a margin of {margin}: {equivalence.verdict} (90 % interval of the difference {low} to {high})."
    if result.error is None:
        return verdict
    if not result.margin:
        return f"{verdict} No number of questions shows that two runs do not differ at all."
    return (
        f"{verdict} Showing that equal runs differ by less takes {_needed(result.needed_equal)}, and showing a difference of "
        f"{margin} takes {_needed(result.needed_different)}."
    )


def _needed(questions: int | None) -> str:
    return f"more than {MAX_QUESTIONS:,} questions" if questions is None else counted(questions, "question")


def difference_text(value: float) -> str:
    """Return a difference with three decimals or, if it is smaller than that shows, with two digits.

    >>> difference_text(0.0312), difference_text(-0.0000178), difference_text(0.0)
    ('0.031', '−0.000018', '0.000')
    """
    return short(value, 3 if value == 0 else min(max(3, 1 - math.floor(math.log10(abs(value)))), 12))


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
