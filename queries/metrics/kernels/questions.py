"""Kernels of one question at a time, from sums over its clues, and of what questions have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from queries.metrics.kernels.arrays import FLAT, Floats, ratio


def unit_logistic(x: ArrayLike) -> Floats:
    """r(x) = (s(x) - s(-1)) / (s(1) - s(-1)), s the logistic function: [-1, 1] onto [0, 1]. GRACE app. J.

    Written with tanh(x/2) = 2 s(x) - 1, which keeps r(-1) = 0 and r(1) = 1 exact.
    """
    halves: Floats = np.tanh(np.asarray(x, float) / 2) / np.tanh(0.5)
    return (halves + 1) / 2


def calscore(weighted_sign_confidence: Floats, items: Floats) -> Floats:
    """1 - r(mean_t (1 - h_t) g_t c_t) per question, from the sum over its items. In [0, 1]. GRACE eq. 1."""
    return 1 - unit_logistic(ratio(weighted_sign_confidence, items))


def calscore_weighted(weighted_sign_confidence: Floats, weight: Floats) -> Floats:
    """1 - r(sum_t (1 - h_t) g_t c_t / sum_t (1 - h_t)) per question; NaN where all weights are 0. In [0, 1].

    A variant of GRACE eq. 1 with normalised weights, which the paper's tables fit better. An h_t that is 1 but for rounding
    leaves no weight.
    """
    return 1 - unit_logistic(np.clip(ratio(weighted_sign_confidence, np.where(weight > FLAT, weight, 0.0)), -1.0, 1.0))


def grace_mce(sign_confidence: Floats, items: Floats) -> Floats:
    """1 - r(mean_t g_t c_t) per question. In [0, 1]. GRACE sec. 4.2; not the maximum calibration error."""
    return 1 - unit_logistic(ratio(sign_confidence, items))


def buzz_mass(confidence: ArrayLike) -> Floats:
    """b_t = c_t prod_{i<t} (1 - c_i), the last c set to 1: where a player that buzzes with chance c_t would buzz; sums to 1.

    Shape (T,) in and out. GRACE app. M.
    """
    c: Floats = np.array(confidence, float)
    c[-1:] = 1.0
    not_before: Floats = np.concatenate([[1.0], np.cumprod(1 - c[:-1])])
    return not_before * c


def slope(n: Floats, x: Floats, y: Floats, xx: Floats, xy: Floats) -> Floats:
    """Least-squares slope of y on x from n and the sums of x, y, x^2 and x y; NaN where x does not vary."""
    spread = xx - ratio(x * x, n)
    flat = spread <= FLAT * np.abs(xx)
    return np.where(flat, np.nan, ratio(xy - ratio(x * y, n), np.where(flat, 0.0, spread)))


def detrended(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Points with x centred and the least-squares line taken off y, so that sums of their products do not cancel.

    Residuals, and with them ``slope_error``, are the same for any line taken off. A subset of the points keeps that property.

    Args:
        x, y: shape (n,), finite.

    Returns:
        x and y, shape (n,) each.
    """
    if not len(x):
        return x, y
    x = x - x.mean()
    y = y - y.mean()
    spread = x @ x
    return x, y - (x @ y / spread) * x if spread > 0 else y


def slope_error(n: Floats, x: Floats, y: Floats, xx: Floats, xy: Floats, yy: Floats, raw_xx: Floats) -> Floats:
    """Standard error of the least-squares slope of y on x: sqrt(RSS / (n - 2) / S_xx). At least 0.

    With A = n xx - x^2 and B, C likewise for xy and yy, RSS / S_xx = (A C - B^2) / A^2. Pass sums of ``detrended`` points:
    those of raw points cancel where the points are close to a line.

    Args:
        n: number of points.
        x, y, xx, xy, yy: sums of x, y, x^2, x y and y^2.
        raw_xx: sum of x^2 before it was centred. A spread that is rounding beside it counts as none.

    Returns:
        The error, of the arguments' shape; NaN for n < 3 or where x does not vary.
    """
    a, b, c = n * xx - x * x, n * xy - x * y, n * yy - y * y
    unexplained = a * c - b * b
    unexplained = np.where(unexplained > FLAT * a * n * yy, unexplained, 0.0)
    flat = (a <= FLAT * n * raw_xx) | (n < 3)
    return np.sqrt(ratio(unexplained, np.where(flat, 0.0, a**2 * (n - 2))))
