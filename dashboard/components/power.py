"""How small a difference between two runs the questions can detect."""

from __future__ import annotations

import math

from dash import html

from dashboard.components.controls import difference_menu
from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.table import row, table
from dashboard.figures.power import power_figure
from data.plurals import counted
from queries.engine.equivalence import Equivalence
from queries.metrics import Metric
from queries.power import MAX_QUESTIONS, MetricPower


def power_section(result: MetricPower, metric: Metric, equivalence: Equivalence | None) -> html.Section | None:
    """Return the detectable difference in words and as a curve, and whether the runs are equal within a margin.

    If the metric has no standard error, only the reason is left why nothing can be said of the margin; None without a margin.

    Args:
        result: power of the metric.
        metric: metric by which questions are compared.
        equivalence: whether the runs are equal within the stated margin; None where none is stated.
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
