"""Power: the difference between two runs that a number of questions can show, and the questions that a difference needs.

The difference is one that the reader states. The power to show the measured difference would only restate its p-value.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from scipy.special import stdtrit

from clueline.data.store import Snapshot
from clueline.queries.engine.equivalence import SINGLE
from clueline.queries.engine.intervals_and_difference_tests import difference_errors
from clueline.queries.engine.run_pairs import RunName, RunPair, measure_pair, runs_by_id
from clueline.queries.engine.units import ONE_CLUSTER
from clueline.queries.metrics import Metric
from clueline.queries.selection import Answer, Selection, head, number

POWER = 0.8
SIGNIFICANCE = 0.05
MIN_QUESTIONS = 6  # with fewer, no difference has p < 0.05, see ``inference.t_test``
MAX_QUESTIONS = 10_000_000  # a difference that needs more questions is treated as 0
SIZES = (10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000, 5000, 10000)


class MetricPower(msgspec.Struct):
    """What the questions of a comparison can show in one metric; values are None where ``missing`` says why.

    Differences are in the units of the metric.

    Attributes:
        difference: a - b, as measured.
        error: standard error of ``difference``.
        spread: standard deviation of a question's share in the difference: ``error`` times the root of ``questions``.
        questions: number of questions that both answered and on which the metric is defined.
        units: number of clusters that these questions are in, under ``cluster``; else ``questions``. The numbers of questions in
            ``needed`` and ``curve`` are of questions in clusters of the same size.
        detectable: the smallest true difference that this many questions show in 80 % of all cases, p < 0.05 two-sided; None with
            fewer than 6 units.
        target: the difference to be shown, above 0, as the reader states it; None where none is stated.
        needed: number of questions that show ``target`` in 80 % of all cases; None without one, or where it needs more than ten
            million.
        margin: the difference below which the runs are equal, at least 0, as the reader states it; None where none is stated.
        needed_equal: number of questions that show, in 80 % of all cases, that runs which are truly equal differ by less than
            ``margin``; None without one, or where it needs more than ten million, as a margin of 0 does.
        needed_different: number of questions that show a true difference as large as ``margin``; None as for ``needed``.
        curve: pairs of a number of questions and the smallest true difference that this many show.
    """

    metric: str
    difference: float | None
    missing: str | None
    error: float | None = None
    spread: float | None = None
    questions: int = 0
    units: int = 0
    detectable: float | None = None
    target: float | None = None
    needed: int | None = None
    margin: float | None = None
    needed_equal: int | None = None
    needed_different: int | None = None
    curve: list[tuple[int, float]] = msgspec.field(default_factory=list)


class PowerAnalysis(Answer):
    """Answer of ``/api/v1/power``; ``power`` is 0.8, ``significance`` 0.05 (two-sided)."""

    a: RunName
    b: RunName
    power: float
    significance: float
    metrics: list[MetricPower]


def power(
    snapshot: Snapshot,
    selection: Selection,
    a: str,
    b: str,
    metrics: Sequence[Metric],
    d: float | None = None,
    margin: float | None = None,
) -> PowerAnalysis:
    """Return what a comparison of two runs can show, estimated from the spread over the questions that both answered.

    ``d`` is the ``target`` of ``MetricPower``. Raises ``BadRequest`` if there is no such run in the dataset, or a run is compared
    with itself.
    """
    runs = runs_by_id(snapshot, selection, a=a, b=b)
    pairs = measure_pair(snapshot, selection, a, b, metrics)
    rows = [_metric_power(pairs[metric.key], metric, d, margin) for metric in metrics]
    return PowerAnalysis(*head(snapshot, selection), runs[a], runs[b], POWER, SIGNIFICANCE, rows)


def _metric_power(pair: RunPair | None, metric: Metric, target: float | None, margin: float | None) -> MetricPower:
    if pair is None:
        return MetricPower(metric.key, None, "no question of the selection was answered by both", margin=margin)
    values = pair.evidence.values(metric)
    difference = number(values[pair.a] - values[pair.b])
    if difference is None:
        return MetricPower(metric.key, None, metric.undefined, margin=margin)
    if metric.no_interval:
        return MetricPower(metric.key, difference, metric.no_interval, margin=margin)
    errors, counts = difference_errors(pair.evidence, metric)
    error, units = number(errors[pair.a, pair.b]), int(counts[pair.a, pair.b])
    questions = units
    if pair.evidence.clustered is not None:
        questions = int(pair.evidence.questions_with(metric)[[pair.a, pair.b]].min())
    if error is None or units < 2:
        missing = SINGLE if questions < 2 else ONE_CLUSTER
        return MetricPower(metric.key, difference, missing, questions=questions, units=units, margin=margin)
    per_unit, spread = questions / units, error * math.sqrt(units)
    sizes = [size for size in SIZES if size >= 2 * per_unit] or [questions]

    def in_questions(needed: int | None) -> int | None:
        return None if needed is None else math.ceil(needed * per_unit)

    return MetricPower(
        metric=metric.key,
        difference=difference,
        missing=None,
        error=error,
        spread=error * math.sqrt(questions),
        questions=questions,
        units=units,
        detectable=detectable_difference(spread, units) if units >= MIN_QUESTIONS else None,
        target=target,
        needed=None if target is None else in_questions(questions_needed(spread, target)),
        margin=margin,
        needed_equal=None if margin is None else in_questions(questions_needed(spread, margin, equality_margin)),
        needed_different=None if margin is None else in_questions(questions_needed(spread, margin)),
        curve=[(size, detectable_difference(spread, size / per_unit)) for size in sizes],
    )


def detectable_difference(spread: float, questions: float) -> float:
    """Return the smallest true difference that a two-sided t-test at 5 % shows in 80 % of all cases.

    It is (t(0.975) + t(0.8)) spread / sqrt(questions), with quantiles of the t distribution with questions - 1 degrees of
    freedom. ``spread`` is the standard deviation of the difference over questions, or over clusters of questions, of which there
    are at least 2.

    Cohen 1988, ch. 2; Card et al. 2020 for comparisons of models.

    >>> round(detectable_difference(0.12, 120), 4)
    0.0309
    """
    freedom = questions - 1
    quantiles = stdtrit(freedom, 1 - SIGNIFICANCE / 2) + stdtrit(freedom, POWER)
    return float(quantiles * spread / np.sqrt(questions))


def equality_margin(spread: float, questions: int) -> float:
    """Return the smallest margin within which two one-sided tests at 5 % show, in 80 % of all cases, runs that are truly equal.

    It is (t(0.95) + t(0.9)) spread / sqrt(questions): each of both tests fails in 10 % of all cases. ``spread`` is the standard
    deviation of the difference over at least 2 questions.

    Julious 2004; Lakens 2017.

    >>> round(equality_margin(0.12, 120), 4)
    0.0323
    """
    freedom = questions - 1
    quantiles = stdtrit(freedom, 1 - SIGNIFICANCE) + stdtrit(freedom, (1 + POWER) / 2)
    return float(quantiles * spread / np.sqrt(questions))


def questions_needed(
    spread: float, difference: float, shown_by: Callable[[float, int], float] = detectable_difference
) -> int | None:
    """Return the smallest number of questions that show a given difference, or equality within it.

    It is at least 6; None where the difference is 0, or so small that it needs more than ten million questions. If ``spread`` is
    the standard deviation of the difference over clusters of questions, clusters are counted. ``shown_by`` is
    ``detectable_difference`` or ``equality_margin``.

    >>> questions_needed(0.12, 0.031), questions_needed(0.12, 0.0)
    (120, None)
    """
    if difference <= 0 or shown_by(spread, MAX_QUESTIONS) > difference:
        return None
    sizes = range(MIN_QUESTIONS, MAX_QUESTIONS)
    return MIN_QUESTIONS + bisect_left(sizes, True, key=lambda size: shown_by(spread, size) <= difference)
