"""Runs compared with each other, and how large a difference their questions could show."""

from __future__ import annotations

from typing import Annotated

from dashboard.registry.keys import Margin, Metrics, WantedDifference, known_run
from dashboard.registry.tables import Column, Table, column, columns, fields, with_interval
from dashboard.registry.views import View, register
from queries.compare import Comparison, Difference, compare, comparisons
from queries.engine.equivalence import Equivalence
from queries.metrics import METRICS
from queries.power import MetricPower, power
from queries.selection.view_parameters_base import Parameters


class CompareKeys(Parameters, frozen=True):
    """Which two runs are compared, by which metrics, and which difference does not matter."""

    a: Annotated[str, known_run("id of the first of two runs to compare")]
    b: Annotated[str, known_run("id of the second of two runs to compare")]
    metrics: Metrics = METRICS
    margin: Margin = None


class PairsKeys(Parameters, frozen=True):
    """Which runs are compared, and by which metrics."""

    a: Annotated[str | None, known_run("id of a run to compare with all others; by default every pair of runs")] = None
    metrics: Metrics = METRICS


class PowerKeys(CompareKeys, frozen=True):
    """Which two runs are compared, on which metrics, and which difference should be detectable."""

    d: WantedDifference = None


def _rows(comparison: Comparison) -> list[tuple[Comparison, str, Difference]]:
    return [(comparison, key, difference) for key, difference in comparison.metrics.items()]


DIFFERENCES = (
    column("a", lambda row: row[0].a.run),
    column("b", lambda row: row[0].b.run),
    *columns("questions", at=0),
    column("metric", lambda row: row[1]),
    column("value_a", lambda row: row[2].a),
    column("value_b", lambda row: row[2].b),
    *with_interval(fields(Difference, at=2, without=("a", "b", "margin")), "difference"),
)


def _in_margin(name: str) -> Column:
    return column(f"margin_{name}", lambda row: getattr(row[2].margin, name, None))


def _with_margin(answer: object, keys: CompareKeys) -> tuple[Column, ...]:
    return (*DIFFERENCES, *map(_in_margin, Equivalence.__struct_fields__ if keys.margin is not None else ()))


COMPARE = register(
    View(
        "compare",
        compare,
        CompareKeys,
        """Two runs on the questions that both answered: paired differences a - b with intervals and p-values, and those
        questions. With a `margin`, also whether the runs are `equal`, `different` or `undecided`.""",
        (Table("The differences as CSV, a row per metric.", _rows, _with_margin),),
    )
)
PAIRS = register(
    View(
        "pairs",
        comparisons,
        PairsKeys,
        """Differences of every pair of runs or, with `a`, of that run and each other run, with p-values adjusted for all pairs
        (Holm) and, except for the primary metric, for all other metrics.""",
        (
            Table(
                "The same as CSV, a row per pair of runs and metric.",
                rows=lambda answer: [row for pair in answer.comparisons for row in _rows(pair)],
                columns=DIFFERENCES,
            ),
        ),
    )
)
POWER = register(
    View(
        "power",
        power,
        PowerKeys,
        """How large a difference between two runs their common questions show with 80 % power (p < 0.05), how many questions a
        difference `d` needs, how many it takes to show that runs are equal within a `margin` or differ by as much, and what
        other numbers of questions would show.""",
        (
            Table(
                "The same as CSV, a row per metric, without the curve over numbers of questions.",
                rows=lambda answer: answer.metrics,
                columns=fields(MetricPower, without=("curve",)),
            ),
        ),
    )
)
