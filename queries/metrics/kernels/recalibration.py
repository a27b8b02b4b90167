"""Kernels of recalibration: maps of confidence that are fitted to what was correct.

Each fit takes items grouped by stated confidence: distinct confidences of shape (n,), how many items stated each and how many of
these were correct (probabilities add up as such), and gives a map of confidences of any shape onto [0, 1] that never decreases
but for Platt scaling with a negative slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.isotonic_regression import isotonic

Map = Callable[[Floats], Floats]
SURE = 1e-6  # confidences are taken as this far from 0 and 1 at least: their log-odds would be infinite
COLDEST, MAX_TEMPERATURE = 1e-3, 1e3  # temperatures
STEPS = 100  # of Newton's method, which takes about six


@dataclass(frozen=True)
class LogOddsMap:
    """c -> s(slope * log-odds(c) + intercept). Of temperature scaling, the slope is 1 / T and the intercept 0.

    >>> LogOddsMap(0.5, 0.0)(np.array([0.5, 0.9]))
    array([0.5 , 0.75])
    """

    slope: float
    intercept: float

    def __call__(self, stated: Floats) -> Floats:
        """The map of confidences of any shape."""
        return np.asarray(expit(self.slope * log_odds(stated) + self.intercept), float)


def log_odds(confidence: Floats) -> Floats:
    """log(c / (1 - c)), with confidences moved at least ``SURE`` away from 0 and 1. Any shape."""
    return np.asarray(logit(np.clip(confidence, SURE, 1 - SURE)), float)


def temperature(confidence: Floats, items: Floats, correct: Floats) -> LogOddsMap:
    """Temperature scaling: c -> s(log-odds(c) / T), the T of maximum likelihood. Guo et al. 2017, for one confidence.

    The likelihood is concave in 1 / T. T is held to [1e-3, 1e3]: it has no lower bound where all that is confident is correct,
    and no upper one where confidence says nothing. Where all confidences are 1/2, every T is as likely, and T is 1.

    Args:
        confidence: the different stated confidences, shape (n,).
        items, correct: number of items that state each, and their sum of correctness, shape (n,).

    Returns:
        A map of confidences of any shape onto [0, 1].
    """
    from scipy.optimize import brentq  # slow to load

    odds = log_odds(confidence)

    def steepness(inverse: float) -> float:
        return float(odds @ (correct - items * expit(inverse * odds)))

    lowest, highest = 1 / MAX_TEMPERATURE, 1 / COLDEST
    if not odds.any():
        inverse = 1.0
    elif steepness(lowest) <= 0:
        inverse = lowest
    elif steepness(highest) >= 0:
        inverse = highest
    else:
        inverse = float(brentq(steepness, lowest, highest, xtol=1e-14, rtol=1e-14))
    return LogOddsMap(inverse, 0.0)


def platt(confidence: Floats, items: Floats, correct: Floats) -> LogOddsMap:
    """Platt scaling: c -> s(a log-odds(c) + b), a and b of maximum likelihood against smoothed targets. Platt 1999.

    Correct items aim at (n_1 + 1) / (n_1 + 2) and incorrect ones at 1 / (n_0 + 2), so that the fit is finite where confidence
    separates them perfectly. Where all confidences are the same, one of many equal fits is taken.

    Args:
        confidence: the different stated confidences, shape (n,).
        items, correct: number of items that state each, and their sum of correctness, shape (n,).

    Returns:
        A map of confidences of any shape onto [0, 1].
    """
    odds = log_odds(confidence)
    right = float(correct.sum())
    wrong = float(items.sum()) - right
    aim = correct * (right + 1) / (right + 2) + (items - correct) / (wrong + 2)
    columns = np.stack([odds, np.ones_like(odds)])
    coefficients = np.zeros(2)
    for _ in range(STEPS):
        p = expit(coefficients @ columns)
        slope = columns @ (aim - items * p)
        curvature = (columns * (items * p * (1 - p))) @ columns.T
        step = np.linalg.lstsq(curvature, slope, rcond=1e-12)[0]
        # A full step may pass the top where the sigmoid is flat: half it until the likelihood rises.
        before = _likelihood(coefficients @ columns, items, aim)
        while _likelihood((coefficients + step) @ columns, items, aim) < before and np.abs(step).max() > SURE:
            step = step / 2
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-12:
            break
    return LogOddsMap(*coefficients.tolist())


def isotonic_map(confidence: Floats, items: Floats, correct: Floats) -> Map:
    """Isotonic recalibration: the least-squares map that never decreases. Zadrozny & Elkan 2002.

    It is straight between the confidences seen, and flat beyond them.

    Args:
        confidence: the different stated confidences, shape (n,).
        items, correct: number of items that state each, and their sum of correctness, shape (n,).

    Returns:
        A map of confidences of any shape onto [0, 1].

    >>> isotonic_map(np.array([0.2, 0.8]), np.array([2.0, 2.0]), np.array([1.0, 2.0]))(np.array([0.1, 0.5, 0.9]))
    array([0.5 , 0.75, 1.  ])
    """
    order = np.argsort(confidence)
    fit = isotonic(correct[order], items[order])
    return lambda stated: np.interp(stated, confidence[order], fit)


def _likelihood(x: Floats, items: Floats, aim: Floats) -> float:
    """Logarithm of the likelihood of log-odds x."""
    return math.fsum((aim * x - items * np.logaddexp(0, x)).tolist())


METHODS: dict[str, Callable[[Floats, Floats, Floats], Map]] = {
    "temperature": temperature,
    "platt": platt,
    "isotonic": isotonic_map,
}


def fit(method: str, confidence: Floats, correct: Floats) -> Map:
    """The map that is fitted to all items.

    Args:
        method: one of ``METHODS``.
        confidence, correct: in [0, 1], shape (n,).
    """
    stated, place, items = np.unique(confidence, return_inverse=True, return_counts=True)
    return METHODS[method](stated, items.astype(float), np.asarray(np.bincount(place, correct), float))


def cross_fitted(method: str, confidence: Floats, correct: Floats, fold: Floats, folds: int) -> Floats:
    """Recalibrated confidences, each by a map that was fitted without the items of its fold.

    Args:
        method: one of ``METHODS``.
        confidence, correct: in [0, 1], shape (n,).
        fold: of each item, from 0, shape (n,); all clues of a question share one.
        folds: number of folds; there must be items outside each that has any.

    Returns:
        In [0, 1], shape (n,).
    """
    stated, place = np.unique(confidence, return_inverse=True)
    where = fold.astype(np.int64) * len(stated) + place
    shape = (folds, len(stated))
    items = np.bincount(where, minlength=folds * len(stated)).astype(float).reshape(shape)
    right = np.bincount(where, correct, folds * len(stated)).reshape(shape)
    recalibrated = np.empty_like(confidence)
    for held_out in np.flatnonzero(items.sum(axis=1)):
        others = np.arange(folds) != held_out
        seen = items[others].sum(axis=0) > 0
        fitted = METHODS[method](stated[seen], items[others].sum(axis=0)[seen], right[others].sum(axis=0)[seen])
        in_fold = fold == held_out
        recalibrated[in_fold] = fitted(stated)[place[in_fold]]
    return recalibrated
