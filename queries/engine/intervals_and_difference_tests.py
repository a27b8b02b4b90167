"""Intervals of metrics, and tests of the differences between runs, from evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import (
    DIGITS,
    LEVEL,
    MAX_CLUSTERS,
    REPLICATES,
    SMOOTH_REPLICATES,
    TIED,
    percentile_interval,
)
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.extra_question import extra_question_interval, extreme_replicates
from clueline.queries.engine.shared_answers import pair_differences
from clueline.queries.metrics import CATALOGUE, Conventions, Metric
from clueline.queries.metrics.catalogue.shared import columns
from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Ints, ratio
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import Floats

Method = Literal["bootstrap", "extra question", "jackknife", "calibration test"]
BOOTSTRAP: Method = "bootstrap"


class Intervals(NamedTuple):
    """95 % intervals of a metric of each run.

    Attributes:
        low, high: both ends, shape (runs,), NaN where there is no interval: for a run with fewer than two units, and where all
            units give the same value of a metric that is not one of items.
        replicates: number of bootstrap replicates in which the metric is defined, shape (runs,); 0 where the jackknife was used
            and where there is no interval.
    """

    low: Floats
    high: Floats
    replicates: NDArray[np.int64]
    methods: tuple[Method, ...]


# The accuracy or, of forecasts, the share of yes.
MEAN_CORRECTNESS = replace(
    CATALOGUE["accuracy"], reads=columns("items", "correct"), value=lambda t, _: ratio(t["correct"], t["items"]),
    of_likelier_side=False,
)  # fmt: skip
OVERCONFIDENCE = CATALOGUE["overconfidence"]
AT_LEAST_OVERCONFIDENCE = ("ece", "ks", "ks_sequential")  # by the triangle inequality, whatever the bins are
MOSTLY_ANSWERED = 0.5  # above this threshold, wrong answers that are answered can be rare although errors are not
EQUIVALENCE_LEVEL = 0.9  # of the interval that agrees with two one-sided tests at 5 %
FITTED = 3.0  # how far the lower end of a fitted metric is from its value, relative to the upper end


def metric_intervals(evidence: Evidence, metric: Metric) -> Intervals:
    """Compute the 95 % interval of a metric of each run, by the method with the best coverage for this metric and sample.

    - Means of items: bootstrap percentiles or, for runs with few questions, few errors or few right answers, the mean with an
      extra question that has the worst or the best value there is. Always so for means of confidence, of which low ones can be
      rare, and for the net score, of which wrong answers above t can.
    - Most other metrics of items: bootstrap percentiles or, for such runs, the bootstrap with an extra question.
    - Both, with few or unequal clusters: the jackknife-t interval, unless few clusters have an error or a right answer.
    - Metrics of difficulty and of whole distributions: bootstrap percentiles or, for such runs, the jackknife-t interval clipped
      to the metric's range.
    - Distances from calibration: the interval contains 0 unless a test shows otherwise. ECE and KS are at least the absolute
      overconfidence, so their lower ends are at least that of its interval.

    Runs with respondents use percentiles of the bootstrap of questions and respondents. The evidence must be for the metric and
    the metric of ``Metric.interval_of``. There are no intervals of a metric with ``Metric.no_interval``.
    """
    if metric.no_interval:
        none = np.full(len(evidence.runs), np.nan)
        return Intervals(none, none, np.zeros(len(none), np.int64), tuple(BOOTSTRAP for _ in evidence.runs))
    if metric.of_accuracy:
        return _over_accuracies(metric, metric_intervals(evidence, MEAN_CORRECTNESS), evidence)
    source = CATALOGUE[metric.interval_of] if metric.interval_of else metric
    counts = evidence.units_with(source)
    several = ~_of_people(evidence) & (counts > 1)
    by_cluster = _by_jackknife_of_clusters(evidence, source)
    few = rests_on_few(evidence, source) & ~by_cluster
    replicates = evidence.replicates(source)
    low, high, defined = percentile_interval(replicates)
    ends, methods = np.stack([low, high]), np.full(len(counts), "bootstrap", dtype=object)

    def use(method: Method, chosen: NDArray[np.bool_], intervals: Floats, number: int) -> None:
        ends[:, chosen], methods[chosen], defined[chosen] = intervals, method, number

    if source.distance:
        ends, methods[:] = _of_distance(evidence, source, replicates, few), "calibration test"
        if source.of_items:
            defined[few] = _smooth_replicates(source)
    elif source.mean_of_items:
        seldom = "correctness" not in source.needs or source.thresholded
        chosen = several & (seldom | few | (counts < inference.SKEWED_SAMPLE) | ~(ends[1] - ends[0] > TIED)) & ~by_cluster
        use("extra question", chosen, _of_bounded_mean(evidence, source, chosen), REPLICATES)
    elif source.of_items:
        skewed = several & (counts < inference.SKEWED_SAMPLE) & (not source.needs_items(evidence.conventions))
        chosen = (few | skewed | (several & ~(ends[1] - ends[0] > TIED))) & ~by_cluster
        use("extra question", chosen, _with_extra_question(evidence, source, chosen), _smooth_replicates(source))
    elif few.any():
        part = evidence.of_runs(few)
        jackknife = inference.jackknife_t_interval(part.values(source), part.pseudo_values(source))
        use("jackknife", few, np.clip(jackknife, source.low, source.high), 0)
    if by_cluster.any() and not source.distance:
        use("jackknife", by_cluster, _jackknife_of_clusters(evidence, source, by_cluster), 0)
    if source.key in AT_LEAST_OVERCONFIDENCE:
        bias = evidence.once("overconfidence", lambda: metric_intervals(evidence, OVERCONFIDENCE))
        ends[0] = np.fmax(ends[0], np.fmax(bias.low, -bias.high))
        ends[1] = np.maximum(ends[0], ends[1])
    if source.fitted:
        ends[0] = np.fmax(np.fmin(ends[0], evidence.values(source) - FITTED * (ends[1] - evidence.values(source))), source.low)
    without = (counts < 2) | ~(ends[1] - ends[0] > TIED)
    low, high = np.where(without, np.nan, np.round(ends, DIGITS) + 0.0)  # no -0
    return Intervals(low, high, np.where(without, 0, defined), tuple(methods.tolist()))


def _smooth_replicates(metric: Metric) -> int:
    return REPLICATES if metric.recut else SMOOTH_REPLICATES


def rests_on_few(evidence: Evidence, metric: Metric) -> NDArray[np.bool_]:
    """Check whether a metric of each run rests on few units, errors or right answers; not with respondents or a single unit."""
    units = evidence.units_with(metric)
    few: NDArray[np.bool_] = (units < inference.SMALL_SAMPLE) & (units > 1)
    if "correctness" in metric.needs:
        few |= (evidence.rarer_outcomes(metric) < inference.FEW_OUTCOMES) & (units > 1)
    return few & ~_of_people(evidence)


def _of_people(evidence: Evidence) -> NDArray[np.bool_]:
    return np.array([run.run in evidence.respondents for run in evidence.runs], dtype=bool)


def _by_jackknife_of_clusters(evidence: Evidence, metric: Metric) -> NDArray[np.bool_]:
    """Check for each run whether its clusters are few or unequal, and show how rare errors and right answers are, (runs,)."""
    chosen: NDArray[np.bool_] = np.zeros(len(evidence.runs), dtype=bool)
    if evidence.clustered is None or not metric.of_items or (metric.thresholded and evidence.conventions.t > MOSTLY_ANSWERED):
        return chosen
    chosen = _few_or_unequal(evidence) & ~_of_people(evidence) & (evidence.units_with(metric) > 1)
    if "correctness" in metric.needs:
        chosen &= evidence.rarer_outcomes(metric) >= inference.FEW_OF_PAIRS
    chosen &= np.isfinite(evidence.values(metric))
    return chosen


def _few_or_unequal(evidence: Evidence) -> NDArray[np.bool_]:
    """Check for each run whether there are few units, or one holds much of all items, so that replicates vary too little."""
    few = np.full(len(evidence.runs), evidence.units.count < inference.SMALL_SAMPLE)
    return few if evidence.clustered is None else few | (evidence.largest_shares > inference.MAX_CLUSTER_SHARE)


def _jackknife_of_clusters(evidence: Evidence, metric: Metric, chosen: NDArray[np.bool_]) -> Floats:
    """Compute the intervals of some runs by the jackknife over clusters, shape (2, chosen runs).

    Student's t has the degrees of freedom of the effective number of clusters: few large ones among many small ones count as few.
    """
    part = evidence.of_runs(chosen)
    values = part.values(metric)
    errors = inference.standard_error(part.pseudo_values(metric, by_cluster=not metric.needs_items(part.conventions)))
    margin = inference.t_margin(errors, part.effective_units)
    least, most = mean_range(metric, evidence.conventions)
    return np.clip(np.stack([values - margin, values + margin]), least, most)


def _with_extra_question(evidence: Evidence, metric: Metric, chosen: NDArray[np.bool_]) -> Floats:
    """Compute the intervals of some runs by the bootstrap with an extra question, shape (2, chosen runs)."""
    return extra_question_interval(evidence.of_runs(chosen), metric) if chosen.any() else np.zeros((2, 0))


def _of_bounded_mean(evidence: Evidence, metric: Metric, chosen: NDArray[np.bool_]) -> Floats:
    """Compute the intervals of a mean of items for some runs, shape (2, chosen runs)."""
    columns = evidence.columns(metric)
    items = columns["items"]
    sums = np.nan_to_num(metric.value(columns, evidence.conventions)) * items
    per_unit = items.sum(axis=0) / np.maximum(evidence.units_with(metric), 1)
    least, most = mean_range(metric, evidence.conventions)
    runs = np.flatnonzero(chosen)
    if len(runs) and (items[:, runs] == items[:, runs[:1]]).all():  # as most runs have, and much faster together
        of_all = items[:, runs[0]], least, most, per_unit[runs[0]]
        return np.stack(inference.bounded_mean_interval(sums[:, runs], *of_all))
    ends = np.zeros((2, len(runs)))
    for place, run in enumerate(runs):
        (low,), (high,) = inference.bounded_mean_interval(sums[:, [run]], items[:, run], least, most, per_unit[run])
        ends[:, place] = low, high
    return ends


def mean_range(metric: Metric, conventions: Conventions) -> tuple[float, float]:
    """Return the least and the greatest value that an item can add to a mean of items."""
    if metric.thresholded:
        (cost,) = net_reward(np.ones(1), np.zeros(1), conventions.t)
        return float(cost), 1.0
    return metric.low, metric.high


def _over_accuracies(metric: Metric, accuracies: Intervals, evidence: Evidence) -> Intervals:
    """Compute the range of a function of the accuracy, largest at 1/2, over the intervals of the accuracy.

    Where outcomes of forecasts are shares, it is no function of their mean, and there is no interval.
    """
    correct = np.stack([accuracies.low, accuracies.high, np.clip(0.5, accuracies.low, accuracies.high)])
    totals = {"items": np.ones_like(correct), "correct": correct, "correct_sq": correct}
    low, high = (end(metric.value(totals, evidence.conventions), axis=0) for end in (np.min, np.max))
    outcomes = evidence.totals(metric)
    shares = outcomes["correct"] - outcomes.get("correct_sq", outcomes["correct"]) > ROUNDING_TOLERANCE * outcomes["items"]
    return accuracies._replace(low=np.where(shares, np.nan, low), high=np.where(shares, np.nan, high))


def _of_distance(evidence: Evidence, metric: Metric, replicates: Floats, few: NDArray[np.bool_]) -> Floats:
    """Compute intervals of a distance from calibration, shape (2, runs), from its replicates, shape (REPLICATES, runs)."""
    distance = metric.distance
    assert distance is not None
    by_mass = metric.pairs is None and evidence.conventions.mass_bins
    step = 1.0 if by_mass or metric.recut else inference.step_length(evidence.units.count, distance)
    stepped = replicates if step == 1 else evidence.replicates(metric, step)
    shared = "calibration test", distance, evidence.cells_of(metric)  # by metrics with the same residuals
    p_calibrated = evidence.once(shared, lambda: inference.calibration_test(*evidence.residuals(metric), distance)).copy()
    if metric.of_items and few.any():
        part = evidence.of_runs(few)
        rare = part.rarer_outcomes(metric) < inference.FEW_OUTCOMES
        p_simulated = inference.rare_outcomes_test(
            *part.residuals(metric), part.confidence_in_cells(metric), part.largest_clusters, distance
        )
        p_calibrated[few] = np.where(rare, p_simulated, p_calibrated[few])
    ends = np.stack(inference.distance_interval(evidence.values(metric), replicates, stepped, step, p_calibrated))
    if metric.of_items:
        low, high = _with_extra_question(evidence, metric, few)
        ends[1, few] = np.fmax(ends[1, few], high)
        ends[0, few] = np.fmin(ends[0, few], low)
    return ends


def difference_tests(evidence: Evidence, metric: Metric) -> Floats:
    """Compute two-sided, unadjusted p-values of the differences between all pairs of runs, on what both answered.

    They are those of the t-test by the jackknife. The jackknife does not hold for differences that rest on few errors or few
    right answers, nor for distances from calibration, which have kinks. The p-value of these is at least the one by the
    bootstrap, and is below 0.05 if and only if ``difference_interval`` leaves out 0.

    Values are in (0, 1], shape (runs, runs); NaN if a pair has fewer than two units with the metric, on the diagonal, and
    everywhere if the questions were selected by whether runs answered them correctly, or the metric has no intervals.
    """
    return evidence.once(("difference tests", metric), lambda: _difference_tests(evidence, metric))


def _difference_tests(evidence: Evidence, metric: Metric) -> Floats:
    if evidence.selected_by_answers or metric.no_interval:
        return np.full((len(evidence.runs), len(evidence.runs)), np.nan)
    differences = pair_differences(evidence, metric)
    moved = differences - _own_differences(evidence, metric)
    errors, counts = _errors_and_effective_units(evidence, metric)
    p_values = inference.t_test(differences, errors, counts)
    for chosen, low, high in _bootstraps_of_differences(evidence, metric):
        for run in np.flatnonzero(chosen.any(axis=1)):
            lowest, highest = low[:, [run]] - high + moved[run], high[:, [run]] - low + moved[run]
            below = ratio(np.sum(lowest <= TIED, axis=0), np.isfinite(lowest).sum(axis=0))
            above = ratio(np.sum(highest >= -TIED, axis=0), np.isfinite(highest).sum(axis=0))
            p_value = np.minimum(2 * np.fmin(below, above), 1.0)
            p_values[run] = np.where(chosen[run], np.fmax(p_values[run], p_value), p_values[run])
    np.fill_diagonal(p_values, np.nan)
    return p_values


def _own_differences(evidence: Evidence, metric: Metric) -> Floats:
    """Return the differences between the values of runs, each on all that it answered, from which their replicates vary."""
    values = evidence.values(metric)
    return values[:, None] - values[None, :]


class EquivalenceTests(NamedTuple):
    """Tests of whether the difference between two runs is smaller than a margin, each of shape (runs, runs).

    Attributes:
        p_values: unadjusted, symmetric, in (0, 1]; the larger one of two one-sided tests.
        low, high: 90 % interval of the difference, row minus column. It is within the margin if and only if p is below 0.05,
            apart from ``t_test``'s limit for few questions. NaN where both runs differ by the same on all questions.
    """

    p_values: Floats
    low: Floats
    high: Floats


def equivalence_tests(evidence: Evidence, metric: Metric, margin: float) -> EquivalenceTests:
    """Test for all pairs of runs, on what both answered, whether they differ by less than a margin, at least 0.

    The methods are those of ``difference_tests``. Schuirmann 1987; Lakens 2017.
    """
    differences = pair_differences(evidence, metric)
    moved = differences - _own_differences(evidence, metric)
    errors, counts = _errors_and_effective_units(evidence, metric)
    half = inference.t_margin(errors, counts, EQUIVALENCE_LEVEL)
    p_below, high = inference.one_sided_t_test(differences - margin, errors, counts), differences + half
    tail = (1 - EQUIVALENCE_LEVEL) / 2
    for chosen, lowest, highest in _bootstraps_of_differences(evidence, metric):
        for run in np.flatnonzero(chosen.any(axis=1)):
            drawn = highest[:, [run]] - lowest + moved[run]
            known = np.isfinite(drawn).any(axis=0) & chosen[run]
            above = np.sum(drawn >= margin - TIED, axis=0) / np.maximum(np.isfinite(drawn).sum(axis=0), 1)
            p_below[run] = np.where(known, np.fmax(p_below[run], above), p_below[run])
            high[run, known] = np.fmax(high[run, known], np.nanquantile(drawn[:, known], 1 - tail, axis=0, method="higher"))
    low = -high.T
    flat = ~(high - low > math.sqrt(TIED))  # rounding of a variance, whose root is the error
    ends = (np.where(flat, np.nan, np.round(end, DIGITS) + 0.0) for end in (low, high))
    return EquivalenceTests(np.maximum(p_below, p_below.T), *ends)


def _bootstraps_of_differences(evidence: Evidence, metric: Metric) -> Iterator[tuple[NDArray[np.bool_], Floats, Floats]]:
    """Yield bootstraps that differences of runs must also pass.

    Each is for pairs of runs, shape (runs, runs), and has replicates of the runs behind the lower and the upper end of an
    interval, each of shape (replicates, runs).
    """
    runs = len(evidence.runs)
    if metric.distance:
        replicates = evidence.replicates(metric)
        yield np.ones((runs, runs), dtype=bool), replicates, replicates
    few = np.zeros(runs, dtype=bool)
    if metric.of_items and "correctness" in metric.needs and not evidence.respondents and evidence.units.count <= MAX_CLUSTERS:
        few = (evidence.rarer_outcomes(metric) < inference.FEW_OF_PAIRS) & (evidence.units_with(metric) > 1)
    if few.any():
        yield few[:, None] | few[None, :], *extreme_replicates(evidence, metric)


def difference_errors(evidence: Evidence, metric: Metric) -> tuple[Floats, Floats]:
    """Compute standard errors of the differences between all pairs of runs, and the numbers of units that both answered.

    Both have shape (runs, runs). With more than ``MAX_CLUSTERS`` units, the jackknife leaves out groups of units instead of
    single units. The errors then differ by a few percent, which is within their own noise, and cost the same for any selection.
    """
    of_totals = not metric.needs_items(evidence.conventions)
    if of_totals or _few_or_unequal(evidence).all():
        errors, counts = inference.difference_errors(evidence.pseudo_values(metric, by_cluster=of_totals))
        if evidence.units.count <= MAX_CLUSTERS:
            return errors, counts
    else:
        errors = inference.replicated_errors(evidence.replicates(metric))
    units = evidence.units_with(metric).astype(float)
    return errors, np.minimum(units[:, None], units[None, :])


def _errors_and_effective_units(evidence: Evidence, metric: Metric) -> tuple[Floats, Floats]:
    """Return the same, but clusters of unequal sizes count as their effective number: that is what Student's t needs."""
    errors, counts = difference_errors(evidence, metric)
    if evidence.clustered is not None:
        effective = evidence.effective_units
        counts = np.minimum(counts, np.minimum(effective[:, None], effective[None, :]))
    return errors, counts


def difference_interval(evidence: Evidence, metric: Metric, a: int, b: int) -> tuple[float, float, int]:
    """Compute the 95 % interval of the difference between two runs on the same questions: value of ``a`` minus value of ``b``.

    It is the t interval of which ``difference_tests`` has the p-value. With few errors or right answers, and for distances from
    calibration, it is the union with that of the bootstrap. Returns both ends, and the number of bootstrap replicates behind
    them, 0 for the jackknife. The ends are NaN where both runs differ by the same on all units, the metric is undefined without
    one of them, or it has no intervals.
    """
    if metric.no_interval:
        return math.nan, math.nan, 0
    pair = evidence.of_runs(np.isin(np.arange(len(evidence.runs)), [a, b]))
    first, second = (0, 1) if a < b else (1, 0)
    bootstraps = [(low, high) for chosen, low, high in _bootstraps_of_differences(pair, metric) if chosen[first, second]]
    difference = np.subtract(*pair.values(metric)[[first, second]])
    errors, counts = _errors_and_effective_units(pair, metric)
    margin = inference.t_margin(errors[first, second], counts[first, second])
    low, high = difference - margin, difference + margin
    for lower, upper in bootstraps:
        lowest, highest = _ends_of_difference(lower, upper, first, second)
        low, high = np.fmin(low, lowest), np.fmax(high, highest)
    if not high - low > math.sqrt(TIED):  # rounding of a variance, whose root is the error
        return math.nan, math.nan, 0
    low, high = inference.with_zero_of_few(low, high, counts[first, second])
    return float(np.round(low, DIGITS) + 0.0), float(np.round(high, DIGITS) + 0.0), REPLICATES if bootstraps else 0


def _ends_of_difference(lower: Floats, upper: Floats, first: int, second: int) -> tuple[float, float]:
    """Return the ends of a difference between two runs by a bootstrap of ``_bootstraps_of_differences``, NaN if undefined."""
    lowest, highest = lower[:, first] - upper[:, second], upper[:, first] - lower[:, second]
    if not (np.isfinite(lowest).any() and np.isfinite(highest).any()):
        return math.nan, math.nan
    return (
        float(np.nanquantile(lowest, (1 - LEVEL) / 2, method="lower")),
        float(np.nanquantile(highest, (1 + LEVEL) / 2, method="higher")),
    )


def bootstrapped_differences(evidence: Evidence, metric: Metric, against: Ints) -> Floats:
    """Compute 95 % intervals of differences by the bootstraps that ``difference_tests`` also counts.

    ``against`` is the index of the run on the same questions that each run is compared with, shape (runs,). Returns both ends of
    each run's value minus the other one's, shape (2, runs); NaN where the jackknife is enough.
    """
    ends = np.full((2, len(against)), np.nan)
    for chosen, lower, upper in _bootstraps_of_differences(evidence, metric):
        for run, other in enumerate(against.tolist()):
            if run != other and chosen[run, other]:
                low, high = _ends_of_difference(lower, upper, run, other)
                ends[:, run] = np.fmin(ends[0, run], low), np.fmax(ends[1, run], high)
    return ends


def outcomes_to_spare(evidence: Evidence, metric: Metric) -> Ints:
    """Return how many units each run can lose before a difference rests on few errors or right answers, shape (runs,).

    Of metrics that do not need correctness, before it rests on few units. Below 0 where it does already.
    """
    if "correctness" in metric.needs:
        return evidence.rarer_outcomes(metric) - inference.FEW_OF_PAIRS
    return evidence.units_with(metric) - inference.SMALL_SAMPLE


def extra_question_margins(evidence: Evidence, metric: Metric) -> Floats:
    """Return how far ends of intervals by an extra question are below and above the values of runs, at least 0, shape (2, runs).

    NaN for a run that does not rest on few errors or right answers, see ``outcomes_to_spare``, and for a metric that the extra
    question does not suit.
    """
    margins = np.full((2, len(evidence.runs)), np.nan)
    if not metric.of_items or metric.distance:
        return margins
    few = (outcomes_to_spare(evidence, metric) < 0) & ~_of_people(evidence) & (evidence.units_with(metric) > 1)
    ends = _of_bounded_mean if metric.mean_of_items else _with_extra_question
    margins[:, few] = np.abs(ends(evidence, metric, few) - evidence.values(metric)[few])
    return margins
