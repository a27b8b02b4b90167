"""Inference over questions: intervals and tests of one number, of the difference of two, and of distances from calibration.

The unit is the question, because its clues are not independent. ``tests/statistics`` checks coverage and levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.special import ndtri, stdtr, stdtrit  # of a normal and a t distribution; scipy.stats is slow to load

from clueline.queries.engine.bootstrap import DIGITS, LEVEL, SEED, TIED, exponential_weights, quantiles
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.metric import Distance, Floats

Bools = NDArray[np.bool_]
SMALL_SAMPLE = 60  # questions: with fewer, the jackknife has better coverage than bootstrap percentiles
SKEWED_SAMPLE = 200  # questions: with fewer, percentiles of metrics of totals do not cover where few confidences are low
MAX_CLUSTER_SHARE = 0.05  # of the items: where a cluster has more, clusters are too unequal for bootstrap percentiles
FEW_OUTCOMES = 30  # questions with an error, or a right answer: with fewer, resampling does not show how rare they are
FEW_OF_PAIRS = 10  # the same, for the difference of two runs, of which the t-test tolerates fewer
MIN_RELATIVE_ERROR = 0.5  # lower limit of each standard error of a curve, relative to the largest one of the curve
FLIPS = 2000  # sign flips or permutations of a test
MANY_UNITS = 500  # above this, two sign flips hardly ever give the same total, and seven digits are enough


# -- one number, or the difference of two ------------------------------------------------------------------------------


def standard_error(pseudo_values: Floats) -> Floats:
    """Compute the standard error of an estimate from its jackknife pseudo-values.

    They are Q theta - (Q - 1) theta without question q, for each question q, shape (questions, ...); NaN where a run did not
    answer the question, or where the metric is undefined without it. The error, shape (...,), is NaN where fewer than two are
    defined. Tukey 1958; Efron & Tibshirani 1993, eq. 11.15.
    """
    count = _count(pseudo_values)
    mean = np.nan_to_num(pseudo_values).sum(axis=0) / np.maximum(count, 1)
    squares = (np.nan_to_num(pseudo_values - mean) ** 2).sum(axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count * (count - 1), 1)), np.nan)


def jackknife_t_interval(estimate: Floats, pseudo_values: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Compute the jackknife-t interval: estimate -/+ jackknife standard error times Student's t with Q - 1 degrees of freedom.

    Q is the number of questions with a pseudo-value, see ``standard_error``. Both ends have shape (...,); NaN where Q is below 2.
    Source: Tukey 1958; Efron & Tibshirani 1993, ch. 11.
    """
    margin = t_margin(standard_error(pseudo_values), _count(pseudo_values), level)
    return estimate - margin, estimate + margin


def t_margin(error: Floats, questions: Floats, level: float = LEVEL) -> Floats:
    """Return half the width of a t interval: the standard error times Student's t with ``questions`` - 1 degrees of freedom."""
    margin: Floats = stdtrit(np.maximum(questions - 1, 1), (1 + level) / 2) * error
    return margin


def t_test(estimate: Floats, error: Floats, questions: Floats) -> Floats:
    """Compute the two-sided p-value of an estimate against 0, not smaller than sign flips of the questions allow.

    With Q questions there are 2^Q ways to flip their signs, so no test that only assumes symmetry can have a p-value below 2^(1 -
    Q): three questions that all favour one run give 0.25, however clear each of them is.

    Estimates, for example differences of two runs, their standard errors, numbers of questions and p-values, in (0, 1], have
    shape (...,). These are NaN where the estimate is undefined or there are fewer than two questions.

    >>> float(t_test(np.asarray(0.3), np.asarray(0.0), np.asarray(3)))
    0.25
    """
    questions = np.asarray(questions, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(np.abs(estimate) <= TIED, 0.0, np.abs(estimate) / np.where(error > TIED, error, 0.0))
    p_value = np.maximum(2 * stdtr(np.maximum(questions - 1, 1), -statistic), np.exp2(1.0 - questions))
    return np.where((questions > 1) & np.isfinite(estimate), np.minimum(p_value, 1.0), np.nan)


def one_sided_t_test(estimate: Floats, error: Floats, questions: Floats) -> Floats:
    """Compute the p-value of an estimate being below 0: near 1 for one above 0. All else is as in ``t_test``.

    >>> float(one_sided_t_test(np.asarray(-0.3), np.asarray(0.0), np.asarray(3)))
    0.125
    """
    two_sided = t_test(estimate, error, questions)
    return np.where(estimate < 0, two_sided / 2, 1 - two_sided / 2)


def influences(estimate: Floats, pseudo_values: Floats) -> Floats:
    """Compute the influence of each question on an estimate, shape (runs,), in its units; their sum is approximately its error.

    ``pseudo_values`` are as in ``standard_error``, shape (questions, runs), like the influences; 0 where there is no
    pseudo-value.
    """
    return np.nan_to_num(pseudo_values - estimate) / np.maximum(_count(pseudo_values), 1)


class Moments(NamedTuple):
    """Number, sum and sum of squares of the influences of a group of questions, shape (runs,) each."""

    questions: Floats
    total: Floats
    squares: Floats

    @classmethod
    def within(cls, influence: Floats, group: Bools) -> Moments:
        """Sum influences, shape (questions, runs), over the questions of each run that are in a group, of the same shape."""
        inside = np.where(group, influence, 0.0)
        return cls(group.sum(axis=0).astype(float), inside.sum(axis=0), np.einsum("qr,qr->r", inside, inside))

    def without(self, part: Moments) -> Moments:
        return Moments(*(whole - own for whole, own in zip(self, part, strict=True)))


def influence_interval(estimate: Floats, groups: Sequence[Moments], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Compute the interval of an estimate that depends on several groups of questions; see ``influence_margin``."""
    margin, _ = influence_margin(groups, level)
    return estimate - margin, estimate + margin


def influence_margin(groups: Sequence[Moments], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Compute half the width of the interval of an estimate that depends on several groups of questions, and its freedom.

    Such an estimate is a part minus the whole. The variance is the sum of the variances within the groups, and Student's t has
    Welch's degrees of freedom. A part with few questions in a large whole therefore gets an interval as wide as its few questions
    require.

    Each of the ``groups`` has the influences of its questions on the estimate. Both results have shape (runs,). Margins are NaN
    where no group has two questions of the run. Source: Welch 1947; Efron & Tibshirani 1993, ch. 11.
    """
    variance, weight = np.zeros((2, *groups[0].questions.shape))
    for count, total, squares in groups:
        deviations = np.maximum(squares - total**2 / np.maximum(count, 1), 0.0)
        part = np.where(count > 1, deviations * count / np.maximum(count - 1, 1), 0.0)
        variance, weight = variance + part, weight + part**2 / np.maximum(count - 1, 1)
    freedom = np.maximum(np.where(weight > 0, variance**2 / np.where(weight > 0, weight, 1.0), 1.0), 1.0)
    margin = stdtrit(freedom, (1 + level) / 2) * np.sqrt(variance)
    return np.where(np.max([group.questions for group in groups], axis=0) > 1, margin, np.nan), freedom


def with_zero_of_few(low: Floats, high: Floats, units: Floats | Ints, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Extend the interval of a difference to 0 where there are so few units that even all of one sign may be so by chance.

    These are up to five at a level of 95 %: see ``t_test``.
    """
    few = np.exp2(1.0 - units) >= 1 - level
    return np.where(few, np.minimum(low, 0.0), low), np.where(few, np.maximum(high, 0.0), high)


def inverted_p_value(
    estimate: Floats, low: Floats, high: Floats, freedom: Floats, units: Floats | Ints, level: float = LEVEL
) -> Floats:
    """Return the two-sided p-value of an estimate against 0 whose ``level`` interval is known.

    It is below 1 - ``level`` exactly where the interval leaves out 0: Student's t has the standard error by which the end towards
    0 is where it is. As in ``t_test``, it is not smaller than sign flips of the ``units`` allow. All have shape (...,).

    >>> ends = np.array([0.1]), np.array([0.3])
    >>> bool(inverted_p_value(np.array([0.2]), *ends, np.array([9.0]), np.array([10.0]))[0] < 0.05)
    True
    """
    reach = np.where(estimate > 0, estimate - low, high - estimate)
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.where(np.abs(estimate) <= TIED, 0.0, np.abs(estimate) / np.where(reach > TIED, reach, 0.0))
    p_value = np.maximum(2 * stdtr(freedom, -stdtrit(freedom, (1 + level) / 2) * steps), np.exp2(1.0 - units))
    return np.where(np.isfinite(estimate) & np.isfinite(reach), np.minimum(p_value, 1.0), np.nan)


def _count(pseudo_values: Floats) -> Floats:
    count: Floats = np.isfinite(pseudo_values).sum(axis=0).astype(float)
    return count


def difference_errors(pseudo_values: Floats) -> tuple[Floats, Floats]:
    """Compute the standard errors of the differences between all pairs of runs on the same questions.

    ``pseudo_values`` are as in ``standard_error``, shape (questions, runs). Returns the errors and the number of questions for
    which both runs have a pseudo-value, each of shape (runs, runs).
    """
    variances, count = _variances_of_differences(pseudo_values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(variances / count), count


def replicated_errors(replicates: Floats) -> Floats:
    """Compute the same from bootstrap replicates, shape (replicates, runs), of metrics whose pseudo-values are expensive.

    Over many questions, both methods agree. For each pair, replicates in which either run is undefined are left out.
    """
    return np.sqrt(_variances_of_differences(replicates)[0])


def _variances_of_differences(columns: Floats) -> tuple[Floats, Floats]:
    """Compute the variance of the difference of each pair of columns over the rows in which both are defined.

    ``columns`` has the shape (rows, k), NaN where undefined. Returns variances and numbers of rows, shape (k, k) each.
    """
    known = np.isfinite(columns)
    values, weights = np.where(known, columns, 0.0), known.astype(float)
    # Centred first, so that little cancels.
    values -= np.where(known, values.sum(axis=0) / np.maximum(weights.sum(axis=0), 1), 0.0)
    count = weights.T @ weights
    first, squares, products = values.T @ weights, (values**2).T @ weights, values.T @ values
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (squares - first**2 / count) / (count - 1)
        covariance = (products - first * first.T / count) / (count - 1)
    return np.maximum(variance + variance.T - 2 * covariance, 0.0), count


def bounded_mean_interval(
    sums: Floats, items: Floats, least: Floats | float, most: Floats | float, per_question: float, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Compute intervals of means over items that also cover where the sample shows few or none of the values that matter.

    A sample without a wrong answer does not say how rare wrong answers are, and cannot be resampled. So one question that was not
    asked joins the sample: its ``per_question`` items all have the ``least`` possible value for the lower end, and the ``most``
    for the upper one. Questions get random weights (the Bayesian bootstrap); the ends are percentiles. For a share of independent
    items, the interval is that of Clopper and Pearson.

    ``sums`` over the items of each question or cluster of questions have shape (clusters, points), their numbers of ``items``
    (clusters,); the extreme values are one or of shape (points,). Both ends, within these values, have shape (points,); NaN if
    fewer than two clusters have items.

    Source: Gaffke 2005; Learned-Miller & Thomas 2020. ``tests/statistics`` simulates the coverage.
    """
    asked = items > 0
    if asked.sum() < 2:
        return np.full(sums.shape[1], np.nan), np.full(sums.shape[1], np.nan)
    weights = exponential_weights(int(asked.sum()))
    joined = weights[:, -1:] * per_question
    totals, weighed = weights[:, :-1] @ sums[asked], weights[:, :-1] @ items[asked][:, None] + joined
    low = np.quantile((totals + joined * least) / weighed, (1 - level) / 2, axis=0)
    high = np.quantile((totals + joined * most) / weighed, (1 + level) / 2, axis=0)
    estimate = sums.sum(axis=0) / items.sum()
    return np.minimum(low, estimate), np.maximum(high, estimate)


# -- curves, distances and proportions -----------------------------------------------------------------------------------


def simultaneous_band(
    sums: Floats, items: Floats, draws: Floats, one_question: Floats, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Compute a band that covers a whole curve of means over items with a given probability, by the studentised bootstrap.

    The half-width at each point is the same multiple of the standard error there: the ``level`` quantile, over the replicates, of
    the largest deviation in standard errors of the replicate, at least that of a single point. With few questions it is larger,
    as Student's t is wider than the normal distribution. Where few questions carry information, the standard error is itself
    poorly known, so it counts as at least ``MIN_RELATIVE_ERROR`` times the largest one of the curve, and at least what one
    question can change: runs without a wrong answer have no variance to see.

    ``sums`` and ``items`` are as in ``bounded_mean_interval``. ``draws`` says how often each cluster is drawn in each replicate,
    shape (replicates, clusters), and ``one_question`` the most by which a single question can change each mean, shape (points,).
    Lower and upper end have shape (points,); NaN if fewer than two clusters have items.

    Source: Montiel Olea & Plagborg-Moller 2019 (sup-t bands); Efron & Tibshirani 1993, ch. 12 (the bootstrap-t).
    ``tests/statistics`` simulates the coverage.
    """
    clusters = int((items > 0).sum())
    if clusters < 2:
        return np.full(sums.shape[1], np.nan), np.full(sums.shape[1], np.nan)
    total = items.sum()
    estimate = sums.sum(axis=0) / total
    influence = sums - estimate * items[:, None]
    drawn = (draws @ items)[:, None]
    usable = drawn[:, 0] > 0
    draws, drawn = draws[usable], drawn[usable]

    def errors(squares: Floats, means: Floats, of_items: Floats) -> Floats:
        variance = np.maximum(squares - means**2 / clusters, 0.0) * (clusters / (clusters - 1))
        error = np.sqrt(variance) / of_items
        widened: Floats = np.maximum(error, MIN_RELATIVE_ERROR * error.max(axis=-1, keepdims=True))
        return np.maximum(widened, one_question)

    error = errors((influence**2).sum(axis=0), influence.sum(axis=0), total)
    replicated = errors(draws @ influence**2, draws @ influence, drawn)
    deviations = np.abs(draws @ sums / drawn - estimate)
    steps = np.divide(deviations, replicated, out=np.zeros_like(deviations), where=replicated > TIED)
    normal, student = float(ndtri((1 + level) / 2)), float(stdtrit(clusters - 1, (1 + level) / 2))
    # The replicates share the lower limits of the errors, so their deviations vary less than those of few questions do.
    margin = max(float(np.quantile(steps.max(axis=1), level)), normal) * student / normal * error
    if 2.0 ** (1 - clusters) > 1 - level:  # so few that even questions that all agree may do so by chance, as in ``t_test``
        margin = np.maximum(margin, clusters * one_question)
    return estimate - margin, estimate + margin


def interval_of_mean(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Combine intervals of independent estimates into one of their mean, at the same level. Zou & Donner 2008 (MOVER).

    Each end is as far from the mean as the root of the sum of squared distances of theirs, over their number.

    >>> interval_of_mean([0.5, 0.7], [0.2, 0.3], [0.6, 0.7])
    (0.35, 0.65)
    """
    mean = float(np.mean(values))
    below, above = (float(np.sqrt(np.sum((np.asarray(ends) - values) ** 2))) / len(values) for ends in (low, high))
    return round(mean - below, DIGITS), round(mean + above, DIGITS)


# -- distances from calibration ----------------------------------------------------------------------------------------


def calibration_test(residuals: Floats, items: Floats, distance: Distance, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Test whether a distance from calibration is larger than chance makes it, by flipping the signs of questions' residuals.

    The residuals c - y of a calibrated run have mean 0 at every confidence. In large samples, a question's residuals are
    therefore as likely as their negatives.

    ``residuals`` are sums of c - y of each question, run and cell of confidence, cells ascending, shape (questions, runs, cells),
    and ``items`` the numbers of each run in each cell. ``distance`` says how the totals R of the cells are combined: "sum" of
    abs(R) as in ECE, "maximum" of abs(R) / items as in max CE, "square" for the sum of R^2 / items as in reliability, or the
    largest absolute cumulative sum of R as in KS ("walk", and "curve" for a distance that sums squares). Returns the one-sided
    p-value of each run, in (0, 1], shape (runs,).
    """
    used = _used(items)
    residuals, items = residuals[..., used], items[:, used]
    return _p_values(sign_flips(residuals, seed, flips), items, distance)


def sign_flips(values: Floats, seed: int, flips: int) -> Floats:
    """Sum values of units, shape (units, ...), with the signs of units flipped at random; shape (1 + flips or more, ...).

    The first signs are all positive. The signs of a unit are those of the Walsh function of its random number. Walsh functions
    form a group, so tests with these signs are exact if values are as likely as their negatives (Hemerik & Goeman 2018).
    """
    units, patterns = len(values), 2 ** flips.bit_length()
    function, signs = np.random.default_rng((seed, units)).integers(patterns, size=units), _walsh_functions(patterns)
    if units > patterns:  # units of one function always have the same sign
        values, function = sum_by_place(values, function, patterns), np.arange(patterns)
    precision = np.float32 if units > MANY_UNITS else float
    flat = values.reshape(len(values), -1).astype(precision, copy=False)
    totals: Floats = (signs[:, function].astype(precision) @ flat).astype(float, copy=False)
    return totals.reshape(patterns, *values.shape[1:])


@lru_cache(maxsize=1)
def _walsh_functions(count: int) -> NDArray[np.int8]:
    return np.asarray(hadamard(count, np.int8))


def rare_outcomes_test(
    residuals: Floats,
    items: Floats,
    confidence: Floats,
    clustered: Floats,
    distance: Distance,
    flips: int = FLIPS,
    seed: int = SEED,
) -> Floats:
    """Test as ``calibration_test`` does, for runs with few errors or right answers, whose signs say nothing about their number.

    Outcomes of a calibrated run are simulated, ``flips`` times: the number of right answers in each cell is binomial, with the
    mean confidence of the cell. The items of a question are taken to be right or wrong together. ``confidence`` is the sum over
    the items of each run in each cell, shape (runs, cells), ``clustered`` the number of items that are right or wrong together,
    at least 1, shape (runs,).
    """
    used = _used(items)
    residuals, items, confidence = residuals[..., used], items[:, used], confidence[:, used]
    expected = np.clip(np.divide(confidence, items, out=np.zeros_like(confidence), where=items > 0), 0.0, 1.0)
    right = np.zeros((flips, *items.shape))
    for run, (count, chance) in enumerate(zip(items.astype(np.int64), expected, strict=True)):
        random, held = np.random.default_rng((seed, len(residuals))), count > 0  # so that no run depends on the others
        right[:, run, held] = random.binomial(count[held], chance[held], (flips, np.count_nonzero(held)))
    totals = np.concatenate([residuals.sum(axis=0)[None], (items * expected - right) * np.sqrt(clustered)[:, None]])
    return _p_values(totals, items, distance)


def _used(items: Floats) -> Bools:
    """Return which cells hold items of any run, shape (cells,), and the first. The others add nothing to any distance."""
    used = np.asarray((items > 0).any(axis=0))
    used[:1] = True
    return used


def _p_values(totals: Floats, items: Floats, distance: Distance) -> Floats:
    """Compute how often a distance is at least the first one; totals of c - y have shape (1 + flips, runs, cells)."""
    filled = np.maximum(items, TIED)
    distances = {
        "sum": lambda: np.abs(totals).sum(axis=-1),
        "maximum": lambda: np.where(items > 0, np.abs(totals) / filled, 0.0).max(axis=-1),
        "square": lambda: np.where(items > 0, totals**2 / filled, 0.0).sum(axis=-1),
        "walk": lambda: np.abs(np.cumsum(totals, axis=-1)).max(axis=-1),
        "curve": lambda: np.abs(np.cumsum(totals, axis=-1)).max(axis=-1),
    }[distance]()
    p_values: Floats = (distances >= distances[0] - TIED).mean(axis=0)
    return p_values


def step_length(questions: int, distance: Distance) -> float:
    """Return the step of the numerical derivative over Q questions, as a multiple of a bootstrap step.

    It is sqrt(log Q) if the distance sums absolute values, which have a kink at 0 (Hong & Li 2018). It is 1 if it sums squares:
    these are smooth, and the result is the reflected ("basic") bootstrap interval.
    """
    return 1.0 if distance in ("square", "curve") else float(np.sqrt(np.log(max(questions, 3))))


def distance_interval(
    estimate: Floats, replicates: Floats, stepped: Floats, step: float, p_calibrated: Floats, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Compute the interval of a distance from calibration, which is 0 for a calibrated run.

    Noise always increases such a distance, so its percentile interval never contains 0. The upper end is the percentile. The
    lower end is 0 unless a test shows that the run is not calibrated; then it comes from the numerical derivative bootstrap.

    ``estimate``, at least 0, and ``p_calibrated``, from ``calibration_test``, have shape (runs,), ``replicates``, and
    ``stepped``, those at ``data + step (replicate - data)`` with the ``step`` of ``step_length``, (replicates, runs). Both ends
    are at least 0.

    Source: Fang & Santos 2019; Hong & Li 2018. ``benchmarks/inference.md`` has the coverage.
    """
    (largest_change,) = quantiles((stepped - estimate) / step, (1 + level) / 2)
    low = np.where(p_calibrated > (1 - level) / 2, 0.0, np.maximum(estimate - largest_change, 0.0))
    return low, np.maximum(quantiles(replicates, (1 + level) / 2)[0], estimate)


def effective_items(items: Floats, correct: Floats, clustered_variance: Floats, questions: Floats) -> Floats:
    """Compute the effective number of items in a bin: that of independent items with the same variance of the accuracy.

    ``clustered_variance`` is the variance of the accuracy with questions as clusters, and ``questions`` the number with an item
    in the bin. All have shape (...,). Values are from 1 to ``items``; if the variance is 0 because all items are equal, the
    number of questions.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = correct / items
        effective = accuracy * (1 - accuracy) / clustered_variance
    alike = ~(clustered_variance > TIED)
    return np.clip(np.where(alike, questions, effective), np.minimum(questions, 1.0), items)


def wilson_interval(accuracy: Floats, items: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Compute Wilson's score interval of a share, shape (...,). Its width is not 0 even at a share of 0 or 1. Wilson 1927.

    The number of ``items`` behind it need not be whole. Both ends are in [0, 1]; NaN where there are no items.
    """
    z = ndtri((1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (accuracy + z**2 / (2 * items)) / (1 + z**2 / items)
        margin = z / (1 + z**2 / items) * np.sqrt(accuracy * (1 - accuracy) / items + z**2 / (4 * items**2))
    known = items > 0
    return np.where(known, np.maximum(centre - margin, 0.0), np.nan), np.where(known, np.minimum(centre + margin, 1.0), np.nan)
