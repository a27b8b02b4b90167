"""How small a difference between two runs the questions can detect."""

from __future__ import annotations

import math

from dash import html

from dashboard.components.controls import menu
from dashboard.components.figure import figure
from dashboard.components.numbers import short
from dashboard.components.table import row, table
from dashboard.figures.power import power_figure
from data.plurals import counted
from queries.metrics import Metric
from queries.power import MAX_QUESTIONS, MetricPower
from queries.selection.parameter_kinds import format_number

DIFFERENCES = (0.005, 0.01, 0.02, 0.05, 0.1)  # that the menu offers; an address can state any


def power_section(result: MetricPower, metric: Metric) -> html.Section | None:
    """Return the detectable difference in words and as a curve; None if the metric has no standard error.

    Args:
        result: power of the metric.
        metric: metric by which questions are compared.
    """
    if result.error is None:
        return None
    rows = [row(f"{questions:,}", difference_text(difference)) for questions, difference in result.curve]
    return html.Section(
        [
            html.H2(f"How many questions does it take, by {metric.name}?"),
            html.P(power_sentence(result)),
            html.Div(
                [menu("d", "Difference that matters to you", _differences(result.target), _written(result.target))],
                className="controls",
            ),
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


def _differences(target: float | None) -> dict[str, str]:
    """Names of the differences in the menu, by value; with that of the address."""
    offered = sorted({*DIFFERENCES, *(() if target is None else (target,))})
    return {"": "Not stated"} | {_written(value): _written(value) for value in offered}


def _written(target: float | None) -> str:
    return "" if target is None else format_number(target)


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
    needed = f"more than {MAX_QUESTIONS:,} questions" if result.needed is None else counted(result.needed, "question")
    return f"{first} Detecting {difference_text(result.target)} takes {needed}."


def difference_text(value: float) -> str:
    """Return a difference with three decimals or, if it is smaller than that shows, with two digits.

    >>> difference_text(0.0312), difference_text(0.0000178), difference_text(0.0)
    ('0.031', '0.000018', '0.000')
    """
    return short(value, 3 if value == 0 else min(max(3, 1 - math.floor(math.log10(value))), 12))
