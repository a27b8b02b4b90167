"""Recalibration: maps of confidences, or of scores that are no probabilities, that are fitted to correctness.

Each fit takes items grouped by stated confidence: the distinct confidences, shape (n,), the number of items at each, and their
sum of correctness. It returns a map from confidences of any shape to [0, 1]. The map never decreases, except Platt scaling with a
negative slope. Temperature scaling can also be fitted to whole distributions (``distribution_temperature``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, softmax

from clueline.data.ragged_arrays import Floats, Ints

Map = Callable[[Floats], Floats]
FOLDS, SEED = 5, 2605
SURE = 1e-6  # confidences are moved at least this far from 0 and 1, where the log-odds are infinite
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-3, 1e3  # lowest and highest temperature
STEPS = 100  # maximum number of steps of Newton's method, which takes about six


@dataclass(frozen=True)
class LogOddsMap:
    """The map c -> s(slope * log-odds(c) + intercept), s the logistic function; temperature scaling has slope 1 / T, intercept 0.

    >>> LogOddsMap(0.5, 0.0)(np.array([0.5, 0.9]))
    array([0.5 , 0.75])
    """

    slope: float
    intercept: float

    def __call__(self, stated: Floats) -> Floats:
        return np.asarray(expit(self.slope * log_odds(stated) + self.intercept), float)


def log_odds(confidence: Floats) -> Floats:
    """Compute log(c / (1 - c)) of confidences of any shape, moved at least ``SURE`` away from 0 and 1."""
    return np.asarray(logit(np.clip(confidence, SURE, 1 - SURE)), float)


def temperature(confidence: Floats, items: Floats, correct: Floats) -> LogOddsMap:
    """Fit temperature scaling by maximum likelihood: c -> s(log-odds(c) / T). Guo et al. 2017, for a single confidence.

    The log-likelihood is concave in 1 / T. T is restricted to [1e-3, 1e3]: it has no lower bound if everything confident is
    correct, and no upper bound if confidence carries no information. If all confidences are 1/2, every T is equally likely, and
    T is 1.
    """
    odds = log_odds(confidence)

    def steepness(inverse: float) -> float:
        return float(odds @ (correct - items * expit(inverse * odds)))

    return LogOddsMap(_likeliest(steepness) if odds.any() else 1.0, 0.0)


def _likeliest(steepness: Callable[[float], float]) -> float:
    """Return the 1 / T at which a likelihood is highest, from its derivative, which falls."""
    from scipy.optimize import brentq  # slow to load

    lowest, highest = 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE
    if steepness(lowest) <= 0:
        return lowest
    if steepness(highest) >= 0:
        return highest
    return float(brentq(steepness, lowest, highest, xtol=1e-14, rtol=1e-14))


def log_shares(shares: Floats) -> Floats:
    """Compute the logarithms of shares of any shape, of which those below ``SURE`` count as that."""
    return np.asarray(np.log(np.maximum(shares, SURE)), float)


def tempered(shares: Floats, inverse: Floats) -> Floats:
    """Rescale distributions by temperatures: each share becomes proportional to its power 1 / T.

    ``inverse`` is 1 / T of each distribution, shape (n,). Shares have shape (n, classes); each row adds up to 1.

    >>> tempered(np.array([[0.8, 0.2]]), np.array([0.5])).round(3)
    array([[0.667, 0.333]])
    """
    rescaled: Floats = softmax(inverse[:, None] * log_shares(shares), axis=1)
    return rescaled


def distribution_temperature(shares: Floats, first: Ints, gold: Ints) -> float:
    """Fit the 1 / T of whole distributions by maximum likelihood, within [1e-3, 1e3]. Guo et al. 2017, eq. 9.

    If every T is equally likely, it is 1. Shares are those of the classes of one item after another, shape (entries,); ``first``
    and ``gold`` are the entries of each item's first and right class, shape (n,).
    """
    logs = log_shares(shares)
    item = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(shares))))
    if len(first):
        logs -= np.maximum.reduceat(logs, first)[item]  # so that no power overflows

    def steepness(inverse: float) -> float:
        powers = np.exp(inverse * logs)
        expected = np.add.reduceat(powers * logs, first) / np.add.reduceat(powers, first)
        return float((logs[gold] - expected).sum())

    return _likeliest(steepness) if len(first) and logs.any() else 1.0


def platt(confidence: Floats, items: Floats, correct: Floats) -> LogOddsMap:
    """Fit Platt scaling by maximum likelihood: c -> s(a log-odds(c) + b), with smoothed targets. Platt 1999.

    The target of correct items is (n_1 + 1) / (n_1 + 2) and that of incorrect items 1 / (n_0 + 2), so the fit is finite even if
    confidence separates them perfectly. If all confidences are equal, one of many equally good fits is returned.
    """
    return LogOddsMap(*_sigmoid(log_odds(confidence), items, correct))


def logistic(score: Floats, items: Floats, correct: Floats) -> Map:
    """Fit a logistic map of any numbers, as Platt scaling does: x -> s(a x + b), with the same smoothed targets."""
    middle, spread = float(score.mean()), float(score.std()) or 1.0  # numbers near 1 can be fitted whatever their units
    slope, intercept = _sigmoid((score - middle) / spread, items, correct)
    return lambda stated: np.asarray(expit(slope * (stated - middle) / spread + intercept), float)


def _sigmoid(x: Floats, items: Floats, correct: Floats) -> tuple[float, float]:
    """Return the slope and the intercept of ``platt``, of some numbers, shape (n,)."""
    right = float(correct.sum())
    wrong = float(items.sum()) - right
    aim = correct * (right + 1) / (right + 2) + (items - correct) / (wrong + 2)
    columns = np.stack([x, np.ones_like(x)])
    coefficients = np.zeros(2)
    for _ in range(STEPS):
        p = expit(coefficients @ columns)
        steepness = columns @ (aim - items * p)
        curvature = (columns * (items * p * (1 - p))) @ columns.T
        step = np.linalg.lstsq(curvature, steepness, rcond=1e-12)[0]
        # Where the sigmoid is flat, a full step can overshoot the maximum: halve it until the likelihood rises.
        before = _likelihood(coefficients @ columns, items, aim)
        while _likelihood((coefficients + step) @ columns, items, aim) < before and np.abs(step).max() > SURE:
            step = step / 2
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-12:
            break
    slope, intercept = coefficients.tolist()
    return slope, intercept


def isotonic_map(confidence: Floats, items: Floats, correct: Floats) -> Map:
    """Fit isotonic recalibration: the non-decreasing least-squares map. Zadrozny & Elkan 2002.

    An item that is half right is added at the lowest and at the highest confidence. So the map says neither 0 nor 1, which a few
    items cannot show, and which one wrong answer among others would refute. The map is linear between the confidences seen and
    constant beyond them.

    >>> isotonic_map(np.array([0.2, 0.8]), np.array([2.0, 2.0]), np.array([1.0, 2.0]))(np.array([0.1, 0.5, 0.9])).round(3)
    array([0.5  , 0.667, 0.833])
    """
    from scipy.optimize import isotonic_regression  # slow to load: takes half as long as loading the whole server

    order = np.argsort(confidence)
    weights, right = items[order], correct[order]
    for end in (0, -1):
        weights[end] += 1
        right[end] += 0.5
    values = isotonic_regression(right / weights, weights=weights).x
    return lambda stated: np.interp(stated, confidence[order], values)


def _likelihood(x: Floats, items: Floats, aim: Floats) -> float:
    """Return the log-likelihood of predicted log-odds ``x``, from the sums of targets ``aim``, shape (n,) each."""
    return math.fsum((aim * x - items * np.logaddexp(0, x)).tolist())


FITS: dict[str, Callable[[Floats, Floats, Floats], Map]] = {
    "temperature": temperature,
    "platt": platt,
    "isotonic": isotonic_map,
    "logistic": logistic,
}
METHODS = ("temperature", "platt", "isotonic")  # by which confidences are recalibrated
SCORE_MAPS = ("isotonic", "logistic")  # by which scores become probabilities


def folds_of_questions(questions: int) -> Ints:
    """Return the fold of each question, or cluster, at random from a fixed seed; sizes differ by at most one."""
    return np.random.default_rng((SEED, questions, FOLDS)).permutation(questions) % FOLDS


def fit(method: str, confidence: Floats, correct: Floats) -> Map:
    """Fit a recalibration map, by a key of ``FITS``, to all items."""
    stated, place, items = np.unique(confidence, return_inverse=True, return_counts=True)
    return FITS[method](stated, items.astype(float), np.asarray(np.bincount(place, correct), float))


def cross_fitted(method: str, confidence: Floats, correct: Floats, fold: Ints, folds: int) -> Floats:
    """Recalibrate each confidence with a map that was fitted without the items of its fold, from 0.

    All clues of a question must share a fold, and at least two folds must have items.
    """
    stated, place = np.unique(confidence, return_inverse=True)
    where = fold * len(stated) + place
    shape = (folds, len(stated))
    items = np.bincount(where, minlength=folds * len(stated)).astype(float).reshape(shape)
    right = np.bincount(where, correct, folds * len(stated)).reshape(shape)
    recalibrated = np.empty_like(confidence)
    for held_out in np.flatnonzero(items.sum(axis=1)):
        others = np.arange(folds) != held_out
        seen = items[others].sum(axis=0) > 0
        fitted = FITS[method](stated[seen], items[others].sum(axis=0)[seen], right[others].sum(axis=0)[seen])
        in_fold = fold == held_out
        recalibrated[in_fold] = fitted(stated)[place[in_fold]]
    return recalibrated
