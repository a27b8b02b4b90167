"""Metrics of a selection's runs with their ranks, intervals and letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from queries.engine.bootstrap import TIED, percentile_interval
from queries.engine.equivalence import Equivalence, equivalences
from queries.engine.evidence_for_many_questions import RunEvidence
from queries.engine.intervals_and_difference_tests import Method, difference_tests, metric_intervals
from queries.engine.multiple_comparisons import compact_letters, pairs_that_differ
from queries.engine.primary_metric import RankedMetrics
from queries.engine.units import ONE_CLUSTER
from queries.metrics import Metric
from queries.metrics.kernels.arrays import Floats
from queries.selection import number

# Either all questions give the same value, or there is none without one of them.
NO_INTERVAL = "these questions do not show how much the value would vary over others"
NOT_SAME = "the runs answered different questions; /compare takes them two by two"


class MetricCell(msgspec.Struct):
    """One metric of one run. ``value`` is None if and only if ``missing`` gives a reason. Ties share their mean rank.

    With intervals, ``low`` and ``high`` are the 95 % interval of the value, ``method`` is how it was computed (see
    ``metric_intervals``) and ``replicates`` is the number of bootstrap replicates behind it, 0 for the jackknife. Where there is
    no interval, ``no_interval`` gives the reason. ``rank_low`` and ``rank_high`` are the 95 % interval of the
    rank, for this run separately. ``letters`` are 1 for a, 2 for b: two runs share a letter if and only if they are not shown to
    differ (p >= 0.05, adjusted for all pairs by Holm's method and, unless this is the primary metric, for all other metrics).
    ``may_be_best`` is whether the run is not shown to be worse than any other. All runs that are truly best are among these with
    95 % confidence, simultaneously. All of these are None without intervals and for a value from a single question. ``letters``
    and ``may_be_best`` are also None if the runs answered different questions or clues; ``may_be_best`` also where 0 is the best
    value, because a difference does not say which of two runs is nearer to 0. With a margin, ``margin`` compares the run with the
    first one by this metric; it is None for the first one.
    """

    value: float | None
    missing: str | None
    questions: int  # questions from which the value is computed
    rank: float | None = None
    low: float | None = None
    high: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    replicates: int | None = None
    letters: list[int] | None = None
    may_be_best: bool | None = None
    method: Method | None = None
    no_interval: str | None = None
    margin: Equivalence | None = None


class RunRow(msgspec.Struct):
    """One run. Its ``items`` include ``failed`` calls only if the selection counts them."""

    run: str
    model: str
    elicitation: str
    questions: int
    items: int
    failed: int
    metrics: dict[str, MetricCell]


def run_rows(
    evidence: RunEvidence,
    metrics: Sequence[Metric],
    failed: pl.DataFrame,
    intervals: bool = False,
    tested: RankedMetrics | None = None,
    margin: float | None = None,
) -> list[RunRow]:
    """Compute a row for each run.

    Args:
        evidence: evidence gathered for the metrics.
        metrics: the metrics, in the order of the row.
        failed: failed calls by ``run``; see ``stored_or_computed_rows.failed_calls``.
        intervals: whether to compute intervals.
        tested: the metrics among which claims are adjusted, to compute letters along with intervals; only valid for runs that
            answered the same clues. None for no letters.
        margin: the difference below which runs are equal, in the units of each metric; None to leave this out.

    Returns:
        One row per run, in the order of ``evidence.runs``.
    """
    failed_of: dict[str, int] = dict(failed.group_by("run").agg(pl.col("failed").sum()).iter_rows())
    cells = {metric.key: metric_cells(metric, evidence, intervals, tested, margin) for metric in metrics}
    return [
        RunRow(
            **evidence.run_facts(index),
            failed=failed_of.get(run.run, 0),
            metrics={metric.key: cells[metric.key][index] for metric in metrics},
        )
        for index, run in enumerate(evidence.runs)
    ]


def metric_cells(
    metric: Metric,
    evidence: RunEvidence,
    intervals: bool = False,
    tested: RankedMetrics | None = None,
    margin: float | None = None,
) -> list[MetricCell]:
    """Compute a metric of each run, with its rank among the runs.

    Args:
        metric: a metric that the evidence was gathered for.
        evidence: evidence of the runs.
        intervals: whether to compute intervals of value and rank.
        tested, margin: see ``run_rows``.

    Returns:
        A cell per run, in the order of ``evidence.runs``.
    """
    values = evidence.values(metric)
    cells = [
        MetricCell(number(value), None if math.isfinite(value) else metric.undefined, questions=int(count), rank=number(rank))
        for value, count, rank in zip(values, evidence.questions_with(metric), ranks(metric.loss(values)), strict=True)
    ]
    if intervals and any(cell.questions > 1 for cell in cells):
        several = evidence.units_with(metric) > 1
        _add_intervals(cells, metric, evidence, several)
        if tested is not None:
            _add_letters(cells, metric, evidence, tested.adjusted_for(metric), several)
    if margin is not None:
        _add_equivalences(cells, metric, evidence, tested, margin)
    return cells


def _add_intervals(cells: list[MetricCell], metric: Metric, evidence: RunEvidence, several: NDArray[np.bool_]) -> None:
    intervals = metric_intervals(evidence, metric)
    rank_low, rank_high, _ = percentile_interval(ranks(metric.loss(evidence.replicates(metric))))
    for index, cell in enumerate(cells):
        if cell.value is not None and cell.questions > 1 and not several[index]:
            cell.no_interval = ONE_CLUSTER
        elif cell.value is not None and several[index]:
            cell.low, cell.high = number(intervals.low[index]), number(intervals.high[index])
            if cell.low is None:
                cell.no_interval = NO_INTERVAL
            else:
                cell.replicates, cell.method = int(intervals.replicates[index]), intervals.methods[index]
            cell.rank_low, cell.rank_high = number(rank_low[index]), number(rank_high[index])


def _add_letters(
    cells: list[MetricCell], metric: Metric, evidence: RunEvidence, metrics: int, several: NDArray[np.bool_]
) -> None:
    """Add letters and which runs may be best, adjusted for all pairs of runs and a number of metrics.

    Where no two runs can be tested, or the metric is not ranked, there is neither.
    """
    if not metric.ranks or not evidence.same_questions or evidence.selected_by_answers:
        return
    different = pairs_that_differ(difference_tests(evidence, metric), metrics)
    loss = metric.loss(evidence.values(metric))
    worse = np.any(different & (loss[:, None] > loss[None, :]), axis=1)
    tested = [(cell.rank, index) for index, cell in enumerate(cells) if cell.rank is not None and several[index]]
    letters = compact_letters(different, [index for _, index in sorted(tested)])
    for _, index in tested:
        cells[index].letters = letters[index]
        if metric.direction != "zero":
            cells[index].may_be_best = not worse[index]


def _add_equivalences(
    cells: list[MetricCell], metric: Metric, evidence: RunEvidence, tested: RankedMetrics | None, margin: float
) -> None:
    """Compare all ranked runs with the first one."""
    ranked = [index for index, cell in enumerate(cells) if cell.rank is not None]
    if len(ranked) < 2:
        return
    first = min(ranked, key=lambda index: cells[index].rank or math.inf)
    comparable = tested is not None and evidence.same_questions
    compared = equivalences(evidence, metric, margin, first, tested.adjusted_for(metric)) if comparable and tested else None
    for index in ranked:
        if index != first:
            cells[index].margin = compared[index] if compared else Equivalence(evidence.runs[first].run, undefined=NOT_SAME)


def ranks(loss: Floats) -> Floats:
    """Rank runs by ascending loss, from 1. Ties, to within 1e-12, share their mean rank.

    Args:
        loss: loss of each run, shape (..., runs); NaN or infinite for a run without a value.

    Returns:
        Ranks, shape (..., runs); NaN for a run without a value.

    >>> ranks(np.array([0.3, 0.1, np.nan, 0.3]))
    array([2.5, 1. , nan, 2.5])
    """
    loss = np.where(np.isfinite(loss), loss, np.nan)
    order = np.argsort(loss, axis=-1)  # NaN last
    ascending = np.take_along_axis(loss, order, axis=-1)
    # Not scipy's rankdata: loading scipy.stats takes a third of a second in every process that ranks.
    places = np.arange(1, loss.shape[-1] + 1)
    is_first = ~(np.diff(ascending, axis=-1, prepend=np.nan) <= TIED)  # first of a tie, which can be a single run
    is_last = np.roll(is_first, -1, axis=-1)
    first = np.maximum.accumulate(np.where(is_first, places, 0), axis=-1)
    last = np.minimum.accumulate(np.where(is_last, places, len(places))[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty_like(loss)
    np.put_along_axis(ranks, order, np.where(np.isnan(ascending), np.nan, (first + last) / 2), axis=-1)
    return ranks
