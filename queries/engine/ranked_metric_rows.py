"""Metrics of a selection's runs with their ranks, intervals, letters and bounds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.data.store.answer_states import NO_CONFIDENCE, OTHER_STATES, State, among_states
from clueline.queries.engine.bootstrap import DIGITS, TIED, percentile_interval
from clueline.queries.engine.equivalence import Equivalence, equivalences
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import Method, difference_tests, metric_intervals
from clueline.queries.engine.multiple_comparisons import compact_letters, pairs_that_differ
from clueline.queries.engine.primary_metric import RankedMetrics
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.engine.shared_answers import adjusted_means, pair_values, ranking_values
from clueline.queries.engine.units import ONE_CLUSTER
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.metrics.kernels.bounds import mean_bounds
from clueline.queries.selection import Selection, dataset_conventions, number

# Either all questions give the same value, or there is none without one of them.
NOTHING_COUNTED = "none of its answers has a confidence"
SCORES = "its scores are no probabilities; an import can map them to some"
NO_INTERVAL = "these questions do not show how much the value would vary over others"
NOT_SAME = "the runs answered different questions; /compare takes them two by two"


class MetricCell(msgspec.Struct):
    """One metric of one run. ``value`` is None if and only if ``missing`` gives a reason. Ties share their mean rank.

    With intervals, ``low`` and ``high`` are the 95 % interval of the value, ``method`` is how it was computed (see
    ``metric_intervals``) and ``replicates`` is the number of bootstrap replicates behind it, 0 for the jackknife. Where there is
    no interval, ``no_interval`` gives the reason. ``rank_low`` and ``rank_high`` are the 95 % interval of the rank, for this run
    separately. ``letters`` are 1 for a, 2 for b: two runs share a letter if and only if they are not shown to differ (p >= 0.05,
    adjusted for all pairs by Holm's method and, unless this is the primary metric, for all other metrics). ``may_be_best`` is
    whether the run is not shown to be worse than any other. All runs that are truly best are among these with 95 % confidence,
    simultaneously. All of these are None without intervals and for a value from a single question. Letters are of what each two
    runs both answered; ``letters`` and ``may_be_best`` are None where runs are not compared (``common=0``), ``may_be_best`` also
    where 0 is the best value, because a difference does not say which of two runs is nearer to 0. With a margin, ``margin``
    compares the run with the first one by this metric; it is None for the first one.

    Where the ranked runs answered different questions, ``adjusted`` is the mean by which they are ranked, adjusted for those that
    each skipped, with its 95 % interval (see ``shared_answers.adjusted_means``); ``value`` and its interval are of what the run
    answered itself. It is None for a metric that is no mean, which ranks by ``value``.

    Where not all questions of the selection have an answer that counts, ``rest_low`` and ``rest_high`` are what a mean would be
    with the least and the greatest values of the rest. Where answers of the run lack a confidence, ``bound_low`` and
    ``bound_high`` are the least and the greatest value that any confidences of these answers could give, or ``no_bounds`` says
    that there are none of this metric.

    ``second`` has the value without plays of people whose end nobody stated, and how many questions it is over, if they differ;
    see ``plays_of_people``.
    """

    SECOND: ClassVar = ("value", "questions")

    value: float | None
    missing: str | None
    questions: int  # questions from which the value is computed
    adjusted: float | None = None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
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
    rest_low: float | None = None
    rest_high: float | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    no_bounds: str | None = None
    second: dict[str, float] = {}


class ValuePair(NamedTuple):
    """Two values of a run that are shown as one pair, such as its confidence and its accuracy, over the same answers."""

    first: float | None
    second: float | None
    questions: int

    @classmethod
    def from_cells(cls, cells: Mapping[str, MetricCell], first: Metric, second: Metric) -> ValuePair:
        """Pair two metrics of a run. Raises ``ValueError`` if they are not over the same answers."""
        one, other = cells[first.key], cells[second.key]
        if first.counted != second.counted or one.questions != other.questions:
            raise ValueError(f"{first.name} and {second.name} are not over the same answers, so they are no pair.")
        return cls(one.value, other.value, one.questions)


class RunRow(msgspec.Struct):
    """One run. Which answers are its ``items`` depends on the metrics; for most, those with a confidence.

    Its other responses are counted by state; ``shares`` are their shares of all its responses, without those that are 0.
    """

    run: str
    model: str
    elicitation: str
    questions: int
    items: int
    scored: int
    no_confidence: int
    unparsed: int
    abstained: int
    failed: int
    shares: dict[str, float]
    metrics: dict[str, MetricCell]


R = TypeVar("R", bound=RunRow)


def run_rows(
    evidence: Evidence,
    metrics: Sequence[Metric],
    states: Mapping[str, Mapping[State, int]],
    intervals: Collection[Metric] = (),
    tested: RankedMetrics | None = None,
    margin: float | None = None,
) -> list[RunRow]:
    """Compute a row for each run, in the order of ``evidence.runs``.

    ``states`` are from ``selected_answers.counts_by_run``. ``intervals`` are the metrics that get them. ``tested`` are those
    among which claims are adjusted, for letters along with intervals; it is only valid for runs that answered the same clues.
    ``margin`` is the difference below which runs are equal, in the units of each metric.
    """
    cells = {metric.key: metric_cells(metric, evidence, metric in intervals, tested, margin) for metric in metrics}
    return [
        RunRow(
            **evidence.run_facts(index),
            **state_fields(states.get(run.run, {})),
            metrics={metric.key: cells[metric.key][index] for metric in metrics},
        )
        for index, run in enumerate(evidence.runs)
    ]


def remove_ranks(rows: Iterable[RunRow]) -> None:
    """Remove the ranks from the cells of runs that are not to be ranked."""
    for cell in (cell for row in rows for cell in row.metrics.values()):
        cell.rank = cell.rank_low = cell.rank_high = None


def state_fields(states: Mapping[State, int]) -> dict[str, Any]:
    """Return the fields of ``RunRow`` on responses by state. ``states`` is empty if all are answered."""
    counts = {state: states.get(state, 0) for state in OTHER_STATES}
    responses = sum(states.values())
    return counts | {"shares": {state: count / responses for state, count in counts.items() if count}}


def merged_rows(parts: Iterable[Iterable[R]], metrics: Sequence[Metric]) -> list[R]:
    """Merge the rows of runs for different groups of metrics; other facts are those of the first group that has the run."""
    merged: dict[str, R] = {}
    for row in (row for part in parts for row in part):
        known = merged.setdefault(row.run, row)
        known.metrics = known.metrics | row.metrics
    for row in merged.values():
        reason = SCORES if row.scored else NOTHING_COUNTED
        row.metrics = {m.key: row.metrics.get(m.key) or MetricCell(None, reason, questions=0) for m in metrics}
    return [*merged.values()]


def metric_cells(
    metric: Metric,
    evidence: Evidence,
    intervals: bool = False,
    tested: RankedMetrics | None = None,
    margin: float | None = None,
) -> list[MetricCell]:
    """Compute a metric of each run, with its rank among the runs and, if asked, intervals of both; see ``run_rows``."""
    values, adjusted = evidence.values(metric), adjusted_means(evidence, metric)
    order = ranks(metric.loss(ranking_values(evidence, metric)))
    cells = [
        MetricCell(number(value), None if math.isfinite(value) else metric.undefined, questions=int(count), rank=number(rank))
        for value, count, rank in zip(values, evidence.questions_with(metric), order, strict=True)
    ]
    if adjusted is not None:
        for cell, value in zip(cells, adjusted.values, strict=True):
            cell.adjusted = number(value)
    if intervals and any(cell.questions > 1 for cell in cells):
        several = evidence.units_with(metric) > 1
        _add_intervals(cells, metric, evidence, several)
        if tested is not None:
            _add_letters(cells, metric, evidence, tested.adjusted_for(metric), several)
    if margin is not None:
        _add_equivalences(cells, metric, evidence, tested, margin)
    return cells


def _add_intervals(cells: list[MetricCell], metric: Metric, evidence: Evidence, several: NDArray[np.bool_]) -> None:
    if metric.no_interval:
        for cell in cells:
            cell.no_interval = None if cell.value is None else metric.no_interval
        return
    intervals, adjusted = metric_intervals(evidence, metric), adjusted_means(evidence, metric)
    replicates = evidence.replicates(metric) if adjusted is None else adjusted.replicates
    rank_low, rank_high, _ = percentile_interval(ranks(metric.loss(replicates)))
    for index, cell in enumerate(cells):
        if cell.value is not None and cell.questions > 1 and not several[index]:
            cell.no_interval = ONE_CLUSTER
        elif cell.value is not None and several[index]:
            cell.low, cell.high = number(intervals.low[index]), number(intervals.high[index])
            if cell.low is None:
                cell.no_interval = NO_INTERVAL
            else:
                cell.replicates, cell.method = int(intervals.replicates[index]), intervals.methods[index]
                if adjusted is not None:
                    _add_adjusted_interval(cell, float(adjusted.widths[index]))
            cell.rank_low, cell.rank_high = number(rank_low[index]), number(rank_high[index])


def _add_adjusted_interval(cell: MetricCell, width: float) -> None:
    """Set the interval of an adjusted mean: the distances of that of the run's own value, so many times as wide."""
    if cell.value is None or cell.adjusted is None or cell.low is None or cell.high is None:
        return
    cell.adjusted_low = round(cell.adjusted - width * (cell.value - cell.low), DIGITS)
    cell.adjusted_high = round(cell.adjusted + width * (cell.high - cell.value), DIGITS)


def _add_letters(cells: list[MetricCell], metric: Metric, evidence: Evidence, metrics: int, several: NDArray[np.bool_]) -> None:
    """Add letters and which runs may be best, adjusted for all pairs of runs and a number of metrics, where any can be tested."""
    if not metric.ranks or metric.no_interval or not _comparable(evidence) or evidence.selected_by_answers:
        return
    different = pairs_that_differ(difference_tests(evidence, metric), metrics)
    loss = metric.loss(pair_values(evidence, metric))
    worse = np.any(different & (loss > loss.T), axis=1)
    tested = [(cell.rank, index) for index, cell in enumerate(cells) if cell.rank is not None and several[index]]
    letters = compact_letters(different, [index for _, index in sorted(tested)])
    for _, index in tested:
        cells[index].letters = letters[index]
        if metric.direction != "zero":
            cells[index].may_be_best = not worse[index]


def _add_equivalences(
    cells: list[MetricCell], metric: Metric, evidence: Evidence, tested: RankedMetrics | None, margin: float
) -> None:
    """Compare all ranked runs with the first one."""
    ranked = [index for index, cell in enumerate(cells) if cell.rank is not None]
    if len(ranked) < 2:
        return
    first = min(ranked, key=lambda index: cells[index].rank or math.inf)
    comparable = tested is not None and _comparable(evidence)
    compared = equivalences(evidence, metric, margin, first, tested.adjusted_for(metric)) if comparable and tested else None
    for index in ranked:
        if index != first:
            cells[index].margin = compared[index] if compared else Equivalence(evidence.runs[first].run, undefined=NOT_SAME)


def _comparable(evidence: Evidence) -> bool:
    """Check whether runs answered the same questions, or are compared on those that both answered."""
    return evidence.expected is not None or evidence.same_questions


def ranks(loss: Floats) -> Floats:
    """Rank runs by ascending loss, from 1, shape (..., runs). Ties, to within 1e-12, share their mean rank.

    A run without a value has a NaN or infinite loss, and a NaN rank.

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


NO_BOUNDS = "no bounds"


def set_bounds(snapshot: Snapshot, selection: Selection, rows: Sequence[RunRow], metrics: Sequence[Metric]) -> None:
    """Set the least and the greatest value that any confidences of answers without one, at the selected clues, could give.

    Where scores are no items of the metrics, runs that have some get no bounds.
    """
    lacking_some = [row for row in rows if row.no_confidence or row.unparsed]
    runs = [row.run for row in lacking_some if not row.scored or "scored" in selection.items.states]
    if not runs or not metrics:
        return
    selection = selection.on_runs(runs)
    clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, (*selection.items.states, *NO_CONFIDENCE))
    answers = snapshot.frame(
        f"{clauses} select run, not {among_states(NO_CONFIDENCE)} as stated, confidence, correct from ({responses})", parameters
    )
    conventions = dataset_conventions(snapshot, selection)
    for row in rows:
        of_run = answers.filter(pl.col("run") == row.run)
        stated, lacking = of_run.filter("stated"), of_run.filter(~pl.col("stated"))["correct"].to_numpy()
        for metric in metrics if len(lacking) else ():
            cell = row.metrics[metric.key]
            if metric.extremes is not None:
                # Without a value, what is stated are abstentions, which count 0.
                items = row.items if cell.value is not None else len(stated)
                bounds = mean_bounds(cell.value or 0.0, items, *metric.extremes(lacking, conventions))
            elif metric.bounds is not None:
                bounds = metric.bounds(stated["confidence"].to_numpy(), stated["correct"].to_numpy(), lacking)
            else:
                cell.no_bounds = NO_BOUNDS
                continue
            cell.bound_low, cell.bound_high = map(number, bounds)
