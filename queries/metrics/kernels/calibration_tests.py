"""Tests of calibration, E[y | c] = c, with questions as clusters: the items of a question can be correlated."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, stdtrit

from clueline.data.recalibration_maps import STEPS, log_odds
from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, distinct, first_of_ties
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights, cumulate

DRAWS = 1000  # simulated runs, or sign flips
ITEM_BY_ITEM = 2_000  # items; above this, numbers of right items are drawn for each confidence, not item by item
TELLING = 2  # clusters with a rare outcome that are expected before their number says how dependent items are
MAX_GROUPS = 250  # of items; if there are more distinct confidences, similar ones are taken together
MANY = 4.0  # variance of a number of right items above which it is drawn from the normal distribution
CLOSE = 1e-10  # Newton's method stops at a step below this
NO_WIDTH = 5e-4  # half the width of an interval that only the rounding of confidences keeps from being a point


class CalibrationTests(NamedTuple):
    """p-values in [0, 1]; NaN with fewer than two clusters."""

    spiegelhalter: float
    kuiper: float
    ks: float


def calibration_tests(confidence: Floats, correct: Floats, cluster: Ints, clusters: int, seed: int) -> CalibrationTests:
    """Compute three tests of the residuals r = y - c, which average 0 at every confidence if a run is calibrated.

    Spiegelhalter's statistic is the absolute sum of r (1 - 2 c). Kuiper's is the range of the cumulative sum of r in order of
    confidence, ties together; the Kolmogorov-Smirnov statistic is its largest distance from 0.

    They are compared with their values in 1,000 simulated runs with the same confidences, in which each item is right with its
    confidence as probability. The spread of the residuals themselves would not do: a run without its first rare error has next
    to none. The simulated items are independent, so the statistics of the run are first divided by the root of ``inflation``.
    Cumulative sums are taken after each confidence or, if there are more than 250, after 250 of them.

    If any correctness is neither 0 nor 1, the statistics are compared with their values in 1,000 draws in which the residuals of
    each cluster keep or change their sign at random. p-values are at least 1 / 1,001.

    Items have shape (n,); ``cluster`` is the question, or cluster of questions, of each, from 0. Source: Spiegelhalter 1986;
    Tygert 2024 and Arrieta-Ibarra et al. 2022 (cumulative differences). ``benchmarks/inference.md`` shows how often they reject
    calibrated runs.
    """
    if np.count_nonzero(np.bincount(cluster)) < 2:
        return CalibrationTests(np.nan, np.nan, np.nan)
    order = np.argsort(confidence, kind="stable")
    confidence, correct, cluster = confidence[order], correct[order], cluster[order]
    residual = correct - confidence
    slope = 1 - 2 * confidence
    random = np.random.default_rng(seed)
    units = [1.0, 1.0]
    if ((correct == 0) | (correct == 1)).all():
        firsts, ends = _groups(confidence)
        stated = np.add.reduceat(confidence, firsts) / (ends - firsts)
        drawn = _right_items(confidence, stated, firsts, ends, random) - (ends - firsts) * stated
        scores = drawn @ (1 - 2 * stated)
        highest, lowest = _extremes(np.cumsum(drawn, axis=1))
        spread, chances = np.sqrt(confidence * (1 - confidence)), np.minimum(confidence, 1 - confidence)
        of_score = inflation(residual * slope, spread * slope, chances, cluster, clusters)
        units = np.sqrt([of_score, inflation(residual, spread, chances, cluster, clusters)]).tolist()
    else:
        firsts = first_of_ties(confidence)
        signs = random.choice([-1.0, 1.0], (clusters, DRAWS))
        scores = np.bincount(cluster, residual * slope, clusters) @ signs
        highest, lowest = _extremes_of_weighted(residual, ItemWeights(cluster, signs), firsts)
    high, low = _extremes(np.cumsum(np.add.reduceat(residual, firsts)))
    score = np.abs((residual * slope).sum())

    def p_value(observed: Floats, unit: float, simulated: Floats) -> float:
        return float((1 + (simulated >= observed / unit - ROUNDING_TOLERANCE * len(confidence)).sum()) / (1 + DRAWS))

    return CalibrationTests(
        spiegelhalter=p_value(score, units[0], np.abs(scores)),
        kuiper=p_value(high - low, units[1], highest - lowest),
        ks=p_value(np.maximum(high, -low), units[1], np.maximum(highest, -lowest)),
    )


def inflation(residual: Floats, spread: Floats, chances: Floats, cluster: Ints, clusters: int) -> float:
    """Compute how many times larger the variance of a sum of residuals is than it would be if items were independent.

    It is 1 plus the sum of products of the residuals of different items of a cluster, over the smaller of the sum of squared
    residuals and its expected value. The sum alone would be large in just those runs that are far off. But it is at least
    1 + (F - 1) min(1, 2 / H): where few errors were to be expected, their absence does not show that items of a cluster are
    independent. F is the inflation if all items of a cluster were right or wrong together, and H the number of
    clusters expected to differ from what is likelier in that case.

    Arrays have shape (n,). ``spread`` is the standard deviation of each residual if the run is calibrated, with the residual's
    sign where it has a factor. ``chances``, in [0, 1/2], are those of each item of such a run to be what is less likely, right or
    wrong. The inflation is 1 if each cluster has one item.
    """
    totals, together = (np.bincount(cluster, values, clusters) for values in (residual, spread))
    items = np.maximum(np.bincount(cluster, minlength=clusters), 1)
    squares, variance = (residual**2).sum(), (spread**2).sum()
    smaller = min(squares, variance)
    observed = 1 + ((totals**2).sum() - squares) / smaller if smaller > ROUNDING_TOLERANCE else 1.0
    largest = (together**2).sum() / variance if variance > ROUNDING_TOLERANCE else 1.0
    expected = (np.bincount(cluster, chances, clusters) / items).sum()
    return float(max(1.0, observed, 1 + (largest - 1) * min(1.0, TELLING / max(expected, ROUNDING_TOLERANCE))))


def _groups(confidence: Floats) -> tuple[Ints, Ints]:
    """Return start and end of groups of consecutive items with equal or, if there are too many, similar ascending confidences."""
    firsts = first_of_ties(confidence)
    if len(firsts) > MAX_GROUPS:
        steps = np.linspace(0, len(confidence), MAX_GROUPS, endpoint=False).astype(np.int64)
        firsts = firsts[np.unique(np.searchsorted(firsts, steps, side="right") - 1)]
    return firsts, np.append(firsts[1:], len(confidence))


def _right_items(confidence: Floats, stated: Floats, firsts: Ints, ends: Ints, random: np.random.Generator) -> Floats:
    """Draw the number of right items in each group of calibrated runs, shape (DRAWS, groups)."""
    if len(confidence) > ITEM_BY_ITEM:
        sizes = ends - firsts
        variance = sizes * stated * (1 - stated)
        many = variance > MANY
        drawn = np.empty((DRAWS, len(firsts)))
        drawn[:, many] = (sizes * stated)[many] + np.sqrt(variance[many]) * _normal_numbers()[:, : many.sum()]
        drawn[:, ~many] = random.binomial(sizes[~many], stated[~many], (DRAWS, int((~many).sum())))
        return drawn
    right = random.random((DRAWS, len(confidence)), dtype=np.float32) < confidence.astype(np.float32)
    counts = right if len(firsts) == len(confidence) else np.add.reduceat(right.view(np.int8), firsts, axis=1, dtype=np.int16)
    return counts.astype(float)


@lru_cache(maxsize=1)
def _normal_numbers() -> Floats:
    """Return standard normal numbers, shape (DRAWS, MAX_GROUPS): all runs are compared with the same draws."""
    return np.random.default_rng(DRAWS).normal(size=(DRAWS, MAX_GROUPS))


class CalibrationLine(NamedTuple):
    """Estimates of logistic regressions and both ends of their 95 % intervals; NaN where undefined."""

    slope: float
    slope_low: float
    slope_high: float
    intercept: float
    intercept_low: float
    intercept_high: float


def calibration_line(confidence: Floats, correct: Floats, question: Ints, questions: int) -> CalibrationLine:
    """Fit calibration slope and calibration in the large: logistic regressions of y on the log-odds of c.

    The slope comes from a regression with an intercept: 1 for a calibrated run, below 1 if confidences are too extreme. The
    intercept comes from a regression with the slope fixed at 1: 0 for a calibrated run, above 0 if confidences are too low
    overall. Intervals use the sandwich estimator with questions as clusters, and Student's t.

    Items have shape (n,); ``question`` is that, or the cluster of questions, of each, from 0. Estimates are NaN where the
    likelihood has no maximum: everything is correct, or nothing is, or, for the slope, confidence separates right from wrong
    completely. The ends of the intervals are also NaN with fewer than two questions, and where every confidence is the chance of
    being right, so that nothing varies. Source: Cox 1958; Liang & Zeger 1986 (the sandwich).
    """
    stated, number = distinct(confidence)
    odds = log_odds(stated)
    right, wrong = odds[number[correct > 0]], odds[number[correct < 1]]
    overlap = 0 < correct.sum() < len(correct)
    ordered = overlap and wrong.max() > right.min() and right.max() > wrong.min()
    sizes, sums = np.bincount(number).astype(float), np.bincount(number, correct).astype(float)
    items = _Items(sizes, sums, number, correct, question, questions)
    ones = np.ones_like(odds)
    nothing = (np.nan, np.nan, np.nan)
    slope = _logistic(np.stack([odds, ones]), np.zeros_like(odds), items) if ordered else nothing
    intercept = _logistic(ones[None], odds, items) if overlap else nothing
    return CalibrationLine(*slope, *intercept)


class _Items(NamedTuple):
    """Totals of items at each distinct confidence, ``sizes`` and ``right``, shape (k,), and the ``number`` of each item's
    confidence.
    """

    sizes: Floats
    right: Floats
    number: Ints
    correct: Floats
    question: Ints
    questions: int


def _logistic(columns: Floats, offset: Floats, items: _Items) -> tuple[float, float, float]:
    """Fit a logistic regression on columns, (coefficients, k), and an offset, (k,); return its first coefficient and interval."""

    def loss(coefficients: Floats) -> float:
        predictor = coefficients @ columns + offset
        return float((items.sizes * np.logaddexp(0.0, predictor) - items.right * predictor).sum())

    def curvature(chance: Floats) -> Floats:
        return np.asarray((columns * (items.sizes * chance * (1 - chance))) @ columns.T)

    coefficients = np.zeros(len(columns))
    before = loss(coefficients)
    for _ in range(STEPS):
        chance = expit(coefficients @ columns + offset)
        step = np.linalg.lstsq(curvature(chance), columns @ (items.right - items.sizes * chance), rcond=1e-12)[0]
        while (after := loss(coefficients + step)) > before and np.abs(step).max() > CLOSE:
            step = step / 2  # where the likelihood is flat, a full step can overshoot the maximum
        coefficients, before = coefficients + step, after
        if np.abs(step).max() < CLOSE:
            break
    estimate = float(coefficients[0])
    count = np.count_nonzero(np.bincount(items.question))
    if count < 2:
        return estimate, np.nan, np.nan
    chance = expit(coefficients @ columns + offset)
    inverse, residual = np.linalg.pinv(curvature(chance)), items.correct - chance[items.number]
    of_questions = [np.bincount(items.question, column[items.number] * residual, items.questions) for column in columns]
    scores = np.stack(of_questions, axis=1)
    variance = (inverse @ (scores.T @ scores) @ inverse)[0, 0] * count / (count - 1)
    margin = float(stdtrit(count - 1, 0.975) * np.sqrt(max(variance, 0.0)))
    if margin < NO_WIDTH:
        return estimate, np.nan, np.nan
    return estimate, estimate - margin, estimate + margin


def _extremes(walks: Floats) -> tuple[Floats, Floats]:
    """Return the highest and lowest point of walks that start from 0, of shape (..., steps)."""
    return np.maximum(walks.max(axis=-1), 0.0), np.minimum(walks.min(axis=-1), 0.0)


def _extremes_of_weighted(residual: Floats, weights: ItemWeights, firsts: Ints) -> tuple[Floats, Floats]:
    """Return the highest and lowest cumulative residual in each weighting, starting from 0, shape (k,) each."""
    walked, highest, lowest = np.zeros((3, weights.count))
    for (sums,) in weights.totals_in_parts(firsts, residual):
        walked = cumulate(sums, walked)
        np.maximum(highest, sums.max(axis=0), out=highest)
        np.minimum(lowest, sums.min(axis=0), out=lowest)
    return highest, lowest
