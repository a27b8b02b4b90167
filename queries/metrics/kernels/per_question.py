"""Kernels of question-level metrics, from sums over the clues of each question, and of least-squares slopes over questions.

Sums and values have shape (...,), unless stated otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, ratio


def unit_logistic(x: ArrayLike) -> Floats:
    """Compute r(x) = (s(x) - s(-1)) / (s(1) - s(-1)), s the logistic function, from [-1, 1] onto [0, 1]. GRACE app. J.

    It is computed with tanh(x/2) = 2 s(x) - 1, so that r(-1) = 0 and r(1) = 1 are exact.

    >>> unit_logistic([-1.0, 0.0, 1.0])
    array([0. , 0.5, 1. ])
    """
    halves: Floats = np.tanh(np.asarray(x, float) / 2) / np.tanh(0.5)
    return (halves + 1) / 2


def calscore(weighted_sign_confidence: Floats, items: Floats) -> Floats:
    """Compute CalScore of each question: 1 - r(mean over clues t of (1 - h_t) g_t c_t), g = 2y - 1. GRACE eq. 1.

    It is in [0, 1], 0 is best; NaN where nobody heard the question.

    >>> float(calscore(np.array(-0.61), np.array(4.0)).round(4))  # GRACE table 6
    0.5823
    """
    return 1 - unit_logistic(ratio(weighted_sign_confidence, items))


def calscore_weighted(weighted_sign_confidence: Floats, weight: Floats) -> Floats:
    """Compute CalScore with normalised weights: 1 - r(sum_t (1 - h_t) g_t c_t / sum_t (1 - h_t)). A variant of GRACE eq. 1.

    The paper's tables fit this variant better than eq. 1. A total weight, of 1 - h, that is 0 up to rounding counts as 0. The
    value is in [0, 1], 0 is best; NaN where all weights are 0.
    """
    return 1 - unit_logistic(
        np.clip(ratio(weighted_sign_confidence, np.where(weight > ROUNDING_TOLERANCE, weight, 0.0)), -1.0, 1.0)
    )


def tau_b(concordance: Floats, apart: Floats, other_apart: Floats) -> Floats:
    """Compute Kendall's tau-b from counts of pairs: (P - Q) / sqrt((pairs not tied in a) (pairs not tied in b)). Kendall 1945.

    ``concordance`` is P - Q, pairs in the same order minus pairs in opposite order; ``apart`` and ``other_apart`` count pairs
    that are not tied in each list. The value is in [-1, 1]; NaN where all values of a list are equal.

    >>> float(tau_b(np.array(1.0), np.array(3.0), np.array(3.0)).round(3))
    0.333
    """
    return np.clip(ratio(concordance, np.sqrt(apart * other_apart)), -1.0, 1.0)


def grace_mce(sign_confidence: Floats, items: Floats) -> Floats:
    """Compute GRACE's mean calibration error of each question: 1 - r(mean_t g_t c_t), in [0, 1]; 0 is best. GRACE sec. 4.2."""
    return 1 - unit_logistic(ratio(sign_confidence, items))


def buzz_mass(confidence: ArrayLike) -> Floats:
    """Compute where a player buzzes who buzzes at each clue with a probability equal to its confidence. GRACE app. M.

    b_t = c_t prod_{i<t} (1 - c_i) at the clues of one question, shape (T,), with the last c set to 1, so that b adds up to 1.

    >>> buzz_mass([0.1, 0.7, 0.8, 0.5]).round(3)  # GRACE table 7
    array([0.1  , 0.63 , 0.216, 0.054])
    """
    c: Floats = np.array(confidence, float)
    c[-1:] = 1.0
    not_before: Floats = np.concatenate([[1.0], np.cumprod(1 - c[:-1])])
    return not_before * c


def slope(n: Floats, x: Floats, y: Floats, xx: Floats, xy: Floats) -> Floats:
    """Compute the least-squares slope of y on x, from n points and sums of x, y, x^2 and x y; NaN where x does not vary.

    >>> float(slope(np.array(2.0), np.array(1.0), np.array(3.0), np.array(1.0), np.array(2.0)))  # through (0, 1) and (1, 2)
    1.0
    """
    spread = xx - ratio(x * x, n)
    flat = spread <= ROUNDING_TOLERANCE * np.abs(xx)
    return np.where(flat, np.nan, ratio(xy - ratio(x * y, n), np.where(flat, 0.0, spread)))


def detrended(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Centre x and subtract the least-squares line from y, so that sums of their products do not cancel.

    ``slope_error``, also of any subset of the points, which are finite, does not depend on which line is subtracted.
    """
    if not len(x):
        return x, y
    x = x - x.mean()
    y = y - y.mean()
    spread = x @ x
    return x, y - (x @ y / spread) * x if spread > 0 else y


def slope_error(n: Floats, x: Floats, y: Floats, xx: Floats, xy: Floats, yy: Floats, raw_xx: Floats) -> Floats:
    """Compute the standard error of the least-squares slope of y on x: sqrt(RSS / (n - 2) / S_xx).

    With A = n xx - x^2, and B and C likewise for xy and yy, RSS / S_xx = (A C - B^2) / A^2. Pass sums of ``detrended`` points:
    sums of raw points cancel if the points are close to a line. A spread of x that is rounding error relative to ``raw_xx``, the
    sum of x^2 before centring, counts as 0. The error is NaN for n < 3 or where x does not vary.
    """
    a, b, c = n * xx - x * x, n * xy - x * y, n * yy - y * y
    unexplained = a * c - b * b
    unexplained = np.where(unexplained > ROUNDING_TOLERANCE * a * n * yy, unexplained, 0.0)
    flat = (a <= ROUNDING_TOLERANCE * n * raw_xx) | (n < 3)
    return np.sqrt(ratio(unexplained, np.where(flat, 0.0, a**2 * (n - 2))))
