"""Inference over questions: intervals and tests of one number, of the difference of two, and of distances from calibration.

The unit is the question: the clues of a question are not independent. Everything here is a function of arrays; that it holds
what it promises is simulated in ``tests/statistics``, and ``benchmarks/inference.md`` has the measured levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit  # of a normal and a t distribution; scipy.stats is slow to load

from queries.engine.bootstrap import LEVEL, SEED, TIED
from queries.metrics.metric import Distance, Floats

Bools = NDArray[np.bool_]
SMALL_SAMPLE = (
    60  # questions: with fewer, intervals come from the jackknife, which covers better there than bootstrap percentiles
)
MIN_RELATIVE_ERROR = 0.5  # of the largest standard error of a curve, which each of its errors counts as at least
FLIPS = 2000  # sign flips or permutations of a test


# -- one number, or the difference of two ------------------------------------------------------------------------------


def standard_error(pseudo_values: Floats) -> Floats:
    """Standard error of an estimate, from its jackknife pseudo-values.

    Args:
        pseudo_values: Q theta - (Q - 1) theta without question q, of each question, shape (questions, ...); NaN where a run did
            not answer the question, or where the metric is undefined without it.

    Returns:
        Shape (...,). NaN where fewer than two are defined.

    Source:
        Tukey 1958; Efron & Tibshirani 1993, eq. 11.15.
    """
    count = _count(pseudo_values)
    mean = np.nan_to_num(pseudo_values).sum(axis=0) / np.maximum(count, 1)
    squares = (np.nan_to_num(pseudo_values - mean) ** 2).sum(axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count * (count - 1), 1)), np.nan)


def jackknife_t_interval(estimate: Floats, pseudo_values: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Interval of an estimate: its jackknife standard error times Student's t, with one degree of freedom less than questions.

    Args:
        estimate: over all questions, shape (...,).
        pseudo_values: as of ``standard_error``, shape (questions, ...).
        level: nominal coverage, in (0, 1).

    Returns:
        Both ends, each of shape (...,); NaN where fewer than two questions have the metric.

    Source:
        Tukey 1958; Efron & Tibshirani 1993, ch. 11.
    """
    reach = stdtrit(np.maximum(_count(pseudo_values) - 1, 1), (1 + level) / 2) * standard_error(pseudo_values)
    return estimate - reach, estimate + reach


def t_test(estimate: Floats, error: Floats, questions: Floats) -> Floats:
    """Two-sided p-value of an estimate against 0, never smaller than sign flips of the questions allow.

    With Q questions there are 2^Q ways to flip their signs, so that no test that only supposes symmetry can have a p-value
    below 2^(1 - Q): three questions that all favour one run give 0.25, however clear each of them is.

    Args:
        estimate: such as the difference of two runs, shape (...,).
        error: its standard error.
        questions: from how many questions it comes.

    Returns:
        p-values in (0, 1], shape (...,); NaN where the estimate is undefined or there are fewer than two questions.

    Example:
        >>> float(t_test(np.asarray(0.3), np.asarray(0.0), np.asarray(3)))
        0.25
    """
    questions = np.asarray(questions, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(np.abs(estimate) <= TIED, 0.0, np.abs(estimate) / np.where(error > TIED, error, 0.0))
    p_value = np.maximum(2 * stdtr(np.maximum(questions - 1, 1), -statistic), np.exp2(1.0 - questions))
    return np.where((questions > 1) & np.isfinite(estimate), np.minimum(p_value, 1.0), np.nan)


def influences(estimate: Floats, pseudo_values: Floats) -> Floats:
    """How far each question moves an estimate: the error of the estimate is about the sum over the questions.

    Args:
        estimate: over all questions, shape (runs,).
        pseudo_values: as of ``standard_error``, shape (questions, runs).

    Returns:
        Shape (questions, runs), 0 where there is no pseudo-value.
    """
    return np.nan_to_num(pseudo_values - estimate) / np.maximum(_count(pseudo_values), 1)


def influence_interval(
    estimate: Floats, influence: Floats, groups: Sequence[Bools], level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Interval of what several groups of questions make together, such as the difference of a part and the whole.

    The variance is the sum over the groups of that within each, and Student's t has Welch's degrees of freedom. So a part of few
    questions within a large whole has the width that its few questions call for.

    Args:
        estimate: shape (runs,).
        influence: of each question on the estimate, shape (questions, runs); see ``influences``.
        groups: which questions of each run are in each group, shape (questions, runs) each.
        level: nominal coverage, in (0, 1).

    Returns:
        Both ends, each of shape (runs,); NaN where a run has no group of two questions.

    Source:
        Welch 1947; Efron & Tibshirani 1993, ch. 11.
    """
    variance, weight = np.zeros_like(estimate), np.zeros_like(estimate)
    for group in groups:
        count = group.sum(axis=0).astype(float)
        mean = np.where(group, influence, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = np.where(group, (influence - mean) ** 2, 0.0).sum(axis=0)
        part = np.where(count > 1, squares * count / np.maximum(count - 1, 1), 0.0)
        variance, weight = variance + part, weight + part**2 / np.maximum(count - 1, 1)
    freedom = np.where(weight > 0, variance**2 / np.where(weight > 0, weight, 1.0), 1.0)
    reach = stdtrit(np.maximum(freedom, 1.0), (1 + level) / 2) * np.sqrt(variance)
    reach = np.where(np.max([group.sum(axis=0) for group in groups], axis=0) > 1, reach, np.nan)
    return estimate - reach, estimate + reach


def _count(pseudo_values: Floats) -> Floats:
    count: Floats = np.isfinite(pseudo_values).sum(axis=0).astype(float)
    return count


def difference_errors(pseudo_values: Floats) -> tuple[Floats, Floats]:
    """Standard errors of the differences between each two runs on the same questions.

    Args:
        pseudo_values: as of ``standard_error``, shape (questions, runs).

    Returns:
        The errors and the number of questions that both runs of a pair have, each of shape (runs, runs).
    """
    covariance, count = _covariances(pseudo_values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(_variances_of_differences(covariance) / count), count


def replicated_errors(replicates: Floats) -> Floats:
    """The errors from bootstrap replicates, for metrics whose pseudo-values are dear, over many questions, where both agree.

    Args:
        replicates: shape (replicates, runs). Of a pair, those are left out in which one is undefined.
    """
    covariance, _ = _covariances(replicates)
    return np.sqrt(_variances_of_differences(covariance))


def _covariances(columns: Floats) -> tuple[Floats, Floats]:
    """Variances and covariance of each two columns, over the rows in which both are defined, and how many these are.

    Returns:
        Shape (3, k, k): variance of the first, variance of the second, covariance; and shape (k, k).
    """
    known = np.isfinite(columns)
    values, weights = np.where(known, columns, 0.0), known.astype(float)
    # Centred first, so that little is left to cancel.
    values -= np.where(known, values.sum(axis=0) / np.maximum(weights.sum(axis=0), 1), 0.0)
    count = weights.T @ weights
    first, squares, products = values.T @ weights, (values**2).T @ weights, values.T @ values
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (squares - first**2 / count) / (count - 1)
        covariance = (products - first * first.T / count) / (count - 1)
    return np.stack([variance, variance.T, covariance]), count


def _variances_of_differences(covariances: Floats) -> Floats:
    variances: Floats = np.maximum(covariances[0] + covariances[1] - 2 * covariances[2], 0.0)
    return variances


# -- curves, distances and proportions -----------------------------------------------------------------------------------


def simultaneous_band(sums: Floats, items: Floats, draws: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """A band that holds a whole curve of means over items with the given probability, by the studentised bootstrap.

    At each point its width is the same multiple of the standard error there: so large that the largest deviation of a replicate,
    in standard errors of that replicate, is within it. Where few questions tell anything their error is hardly known; it counts
    as at least ``MIN_RELATIVE_ERROR`` of the largest one of the curve.

    Args:
        sums: over the items of each question or cluster of questions, shape (clusters, points).
        items: number of items of each, shape (clusters,).
        draws: how often each is drawn in each replicate, shape (replicates, clusters).
        level: nominal coverage of the whole curve, in (0, 1).

    Returns:
        Lower and upper end, each of shape (points,); NaN where fewer than two clusters have items.

    Source:
        Montiel Olea & Plagborg-Moller 2019 (sup-t bands); Efron & Tibshirani 1993, ch. 12 (the bootstrap-t). ``tests/statistics``
        simulates the coverage.
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
        return widened

    error = errors((influence**2).sum(axis=0), influence.sum(axis=0), total)
    replicated = errors(draws @ influence**2, draws @ influence, drawn)
    deviations = np.abs(draws @ sums / drawn - estimate)
    steps = np.divide(deviations, replicated, out=np.zeros_like(deviations), where=replicated > TIED)
    reach = np.quantile(steps.max(axis=1), level) * error
    return estimate - reach, estimate + reach


# -- distances from calibration ----------------------------------------------------------------------------------------


def calibration_test(residuals: Floats, items: Floats, distance: Distance, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Whether a distance from calibration is larger than chance makes it: signs of the questions' residuals are flipped.

    A calibrated run's residuals c - y have mean 0, whatever was stated, so that a question's residuals are as likely as their
    opposites, in large samples.

    Args:
        residuals: sum of c - y of each question, run and cell of confidence, ascending, shape (questions, runs, cells).
        items: how many items each run has in each cell, shape (runs, cells).
        distance: how the cells' totals R become one number: "sum" of abs(R) as in ECE, "maximum" of abs(R) / items as in
            max CE, sum of R "square" / items as in reliability, or the largest abs of the cumulated R as in KS ("walk", and
            "curve" for what is made of squares).
        flips: how many.
        seed: of the flips.

    Returns:
        One-sided p-value of each run, in (0, 1], shape (runs,).
    """
    questions, runs, cells = residuals.shape
    signs = np.random.default_rng((seed, questions)).choice([-1.0, 1.0], (flips, questions))
    totals = np.concatenate([np.ones((1, questions)), signs]) @ residuals.reshape(questions, runs * cells)
    totals = totals.reshape(1 + flips, runs, cells)
    filled = np.maximum(items, TIED)
    distances = {
        "sum": lambda: np.abs(totals).sum(axis=-1),
        "maximum": lambda: np.where(items > 0, np.abs(totals) / filled, 0.0).max(axis=-1),
        "square": lambda: np.where(items > 0, totals**2 / filled, 0.0).sum(axis=-1),
        "walk": lambda: np.abs(np.cumsum(totals, axis=-1)).max(axis=-1),
        "curve": lambda: np.abs(np.cumsum(totals, axis=-1)).max(axis=-1),
    }[distance]()
    p_values: Floats = (distances >= distances[0] - TIED).sum(axis=0) / (1 + flips)
    return p_values


def step_length(questions: int, distance: Distance) -> float:
    """How many times as long as a bootstrap step the step of the numerical derivative is.

    sqrt(log Q) where the distance is made of absolute values, which have a kink at 0 (Hong & Li 2018). 1 where it is made of
    squares: these are smooth, and what is left is the reflected ("basic") bootstrap interval.
    """
    return 1.0 if distance in ("square", "curve") else float(np.sqrt(np.log(max(questions, 3))))


def distance_interval(
    estimate: Floats, replicates: Floats, stepped: Floats, step: float, p_calibrated: Floats, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Interval of a distance from calibration, which is 0 for a calibrated run.

    Noise only ever adds to such a distance, so that its percentile interval never contains 0. The upper end is the percentile.
    The lower end is 0 unless a test shows that the run is not calibrated; then it comes from the numerical derivative bootstrap.

    Args:
        estimate: the distance, at least 0, shape (runs,).
        replicates: of the bootstrap, shape (replicates, runs).
        stepped: the distance at ``data + step (replicate - data)``, shape (replicates, runs).
        step: as ``step_length`` gives it.
        p_calibrated: of ``calibration_test``, shape (runs,).
        level: nominal coverage.

    Returns:
        Both ends, each of shape (runs,), the lower one at least 0.

    Source:
        Fang & Santos 2019; Hong & Li 2018. ``benchmarks/inference.md`` has the coverage.
    """
    largest_change = _upper_percentile((stepped - estimate) / step, level)
    low = np.where(p_calibrated > (1 - level) / 2, 0.0, np.maximum(estimate - largest_change, 0.0))
    return low, np.maximum(_upper_percentile(replicates, level), estimate)


def _upper_percentile(columns: Floats, level: float) -> Floats:
    """The upper end of a percentile interval of each column, NaN where nothing is defined."""
    ends = np.full(columns.shape[1], np.nan)
    defined = np.isfinite(columns).any(axis=0)
    ends[defined] = np.nanquantile(columns[:, defined], (1 + level) / 2, axis=0)
    return ends


def effective_items(items: Floats, correct: Floats, clustered_variance: Floats, questions: Floats) -> Floats:
    """How many independent items the items of a bin are worth: those that would give the same variance of its accuracy.

    Args:
        items: in the bin, shape (...,).
        correct: sum of their correctness.
        clustered_variance: of the accuracy, with questions as clusters.
        questions: that have an item in the bin.

    Returns:
        Shape (...,), from 1 to ``items``. Where all items are alike, and no variance tells, the number of questions.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = correct / items
        effective = accuracy * (1 - accuracy) / clustered_variance
    alike = ~(clustered_variance > TIED)
    return np.clip(np.where(alike, questions, effective), np.minimum(questions, 1.0), items)


def wilson_interval(accuracy: Floats, items: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Wilson's score interval of a share; it has a width at 0 and at 1, too.

    Args:
        accuracy: the share, in [0, 1], shape (...,).
        items: that it comes from; need not be whole.
        level: nominal coverage.

    Returns:
        Both ends, in [0, 1]; NaN where there are no items.

    Source:
        Wilson 1927.
    """
    z = ndtri((1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (accuracy + z**2 / (2 * items)) / (1 + z**2 / items)
        reach = z / (1 + z**2 / items) * np.sqrt(accuracy * (1 - accuracy) / items + z**2 / (4 * items**2))
    known = items > 0
    return np.where(known, np.maximum(centre - reach, 0.0), np.nan), np.where(known, np.minimum(centre + reach, 1.0), np.nan)
