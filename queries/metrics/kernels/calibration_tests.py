"""Tests of calibration, E[y | c] = c, with questions as clusters: the items of a question can be correlated in any way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, stdtrit

from queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, distinct, first_of_ties
from queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights, cumulate
from queries.metrics.kernels.recalibration import STEPS, log_odds

DRAWS = 1000  # draws of the multipliers
CLOSE = 1e-10  # Newton's method stops at a step below this


class CalibrationTests(NamedTuple):
    """p-values in [0, 1]; NaN with fewer than two questions."""

    spiegelhalter: float
    kuiper: float
    ks: float


def calibration_tests(confidence: Floats, correct: Floats, question: Ints, questions: int, seed: int) -> CalibrationTests:
    """Compute three tests of the residuals r = y - c, which average 0 at every confidence if a run is calibrated.

    Spiegelhalter's z is the sum of r (1 - 2 c) divided by the root of the sum of squares of its totals per question. Kuiper's
    statistic is the range of the cumulative sum of r in order of confidence, ties together; the Kolmogorov-Smirnov statistic is
    its largest distance from 0. Both are compared with their values in 1,000 draws in which the residuals of each question are
    multiplied by a standard normal number.

    Args:
        confidence, correct: in [0, 1], shape (n,).
        question: index of each item's question, or cluster of questions, from 0, shape (n,).
        questions: number of questions or clusters.
        seed: seed of the draws.

    Returns:
        Two-sided p-value of Spiegelhalter's test, and p-values of the other two, at least 1 / 1,001.

    Source:
        Spiegelhalter 1986; Tygert 2024 and Arrieta-Ibarra et al. 2022 (cumulative differences); Wu 1986 (multipliers).
    """
    if len(np.unique(question)) < 2:
        return CalibrationTests(np.nan, np.nan, np.nan)
    residual = correct - confidence
    scores = np.bincount(question, residual * (1 - 2 * confidence), questions)
    spread = np.sqrt((scores**2).sum())
    z = scores.sum() / spread if spread > ROUNDING_TOLERANCE else 0.0
    order = np.argsort(confidence, kind="stable")
    firsts = first_of_ties(confidence[order])
    highest, lowest = _extremes(residual[order], ItemWeights(question[order], np.ones((questions, 1))), firsts)
    draws = np.random.default_rng(seed).normal(size=(questions, DRAWS))
    drawn_highest, drawn_lowest = _extremes(residual[order], ItemWeights(question[order], draws), firsts)

    def p_value(observed: Floats, drawn: Floats) -> float:
        return float((1 + (drawn >= observed - ROUNDING_TOLERANCE).sum()) / (1 + DRAWS))

    return CalibrationTests(
        spiegelhalter=float(2 * ndtr(-abs(z))),
        kuiper=p_value(highest - lowest, drawn_highest - drawn_lowest),
        ks=p_value(np.maximum(highest, -lowest), np.maximum(drawn_highest, -drawn_lowest)),
    )


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

    Args:
        confidence, correct: in [0, 1], shape (n,).
        question: index of each item's question, or cluster of questions, from 0, shape (n,).
        questions: number of questions or clusters.

    Returns:
        The estimates and intervals on the scale of the coefficients. NaN where the likelihood has no maximum: everything is
        correct, or nothing is, or, for the slope, confidence separates right from wrong completely. The ends of the intervals
        are also NaN with fewer than two questions.

    Source:
        Cox 1958; Liang & Zeger 1986 (the sandwich).
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
    """Items grouped by confidence: a run states few distinct confidences, and the likelihood needs only their totals.

    Attributes:
        sizes, right: number of items and sum of correctness at each distinct confidence, shape (k,).
        number: index of each item's confidence, shape (n,).
        correct: correctness of each item, in [0, 1], shape (n,).
        question: index of each item's question, shape (n,).
        questions: number of questions.
    """

    sizes: Floats
    right: Floats
    number: Ints
    correct: Floats
    question: Ints
    questions: int


def _logistic(columns: Floats, offset: Floats, items: _Items) -> tuple[float, float, float]:
    """Fit a logistic regression; return its first coefficient and both ends of the 95 % interval.

    Args:
        columns: regressors at each distinct confidence, shape (coefficients, k).
        offset: added to the linear predictor, shape (k,).
        items: the items whose correctness is the outcome.
    """

    def loss(coefficients: Floats) -> float:
        predictor = coefficients @ columns + offset
        return float((items.sizes * np.logaddexp(0.0, predictor) - items.right * predictor).sum())

    def curvature(chance: Floats) -> Floats:
        return np.asarray((columns * (items.sizes * chance * (1 - chance))) @ columns.T)

    coefficients = np.zeros(len(columns))
    for _ in range(STEPS):
        chance = expit(coefficients @ columns + offset)
        step = np.linalg.lstsq(curvature(chance), columns @ (items.right - items.sizes * chance), rcond=1e-12)[0]
        before = loss(coefficients)
        while loss(coefficients + step) > before and np.abs(step).max() > CLOSE:
            step = step / 2  # where the likelihood is flat, a full step can overshoot the maximum
        coefficients = coefficients + step
        if np.abs(step).max() < CLOSE:
            break
    estimate = float(coefficients[0])
    count = len(np.unique(items.question))
    if count < 2:
        return estimate, np.nan, np.nan
    chance = expit(coefficients @ columns + offset)
    inverse, residual = np.linalg.pinv(curvature(chance)), items.correct - chance[items.number]
    of_questions = [np.bincount(items.question, column[items.number] * residual, items.questions) for column in columns]
    scores = np.stack(of_questions, axis=1)
    variance = (inverse @ (scores.T @ scores) @ inverse)[0, 0] * count / (count - 1)
    margin = float(stdtrit(count - 1, 0.975) * np.sqrt(max(variance, 0.0)))
    return estimate, estimate - margin, estimate + margin


def _extremes(residual: Floats, weights: ItemWeights, firsts: Ints) -> tuple[Floats, Floats]:
    """Return the highest and lowest cumulative residual in each weighting, starting from 0, shape (k,) each."""
    walked, highest, lowest = np.zeros((3, weights.count))
    for (sums,) in weights.totals_in_parts(firsts, residual):
        walked = cumulate(sums, walked)
        np.maximum(highest, sums.max(axis=0), out=highest)
        np.minimum(lowest, sums.min(axis=0), out=lowest)
    return highest, lowest
