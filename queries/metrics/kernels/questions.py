"""Kernels of one question at a time, from sums over its clues, and of what questions have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from queries.metrics.kernels.arrays import FLAT, Floats, ratio
from queries.metrics.kernels.twofold import multiply, plus, subtract

Parts = tuple[Floats, Floats, Floats]


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


def slope_error(n: Floats, x: Parts, y: Parts, xx: Parts, xy: Parts, yy: Parts) -> Floats:
    """Standard error of the least-squares slope, sqrt(RSS / (n - 2) / S_xx); NaN for n < 3 or where x does not vary. At least 0.

    With A = n xx - x^2 and B, C likewise for xy and yy, RSS / S_xx = (A C - B^2) / A^2. In plain floats A C - B^2 would cancel to
    1e-16 of A C where the points lie on a line, and its root to 1e-8: hence two floats for each sum.

    Args:
        n: number of points.
        x, y, xx, xy, yy: sums of x, y, x^2, x y, y^2, each as the sums of three parts, each far smaller than the one before.
    """
    count = np.asarray(n, float)
    sums = []
    for leading, rest, least in (x, y, xx, xy, yy):
        high, low = plus(leading, rest)
        sums.append(plus(high, low + least))
    s_x, s_y, s_xx, s_xy, s_yy = sums
    one = (count, np.zeros_like(count))
    a, b, c = (
        subtract(multiply(one, both), multiply(p, q)) for both, p, q in ((s_xx, s_x, s_x), (s_xy, s_x, s_y), (s_yy, s_y, s_y))
    )
    unexplained = np.maximum(subtract(multiply(a, c), multiply(b, b))[0], 0.0)
    flat = (a[0] <= FLAT * np.abs(count * s_xx[0])) | (count < 3)
    return np.sqrt(ratio(unexplained, np.where(flat, 0.0, a[0] ** 2 * (count - 2))))
