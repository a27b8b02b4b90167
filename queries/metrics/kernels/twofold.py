"""Numbers as unevaluated sums of two floats, for differences that would cancel in one: about 31 digits instead of 16.

Dekker 1971; Knuth, TAOCP 2, 4.2.2. A number is a pair (high, low), low less than half an ulp of high; arrays of any shape.
"""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import Floats

Twofold = tuple[Floats, Floats]
GRID = 2.0**20  # squares of multiples of 2^-20 in [-1, 1] add up without rounding, up to 2^13 of them
FINE = 2.0**55  # and multiples of 2^-55 within 2^-19, up to 2^17 of them
SPLIT = 2.0**27 + 1  # cuts a float of 53 bits in halves


def parts(values: Floats) -> Twofold:
    """Values in [-1, 1] as the nearest multiple of 2^-20 and the exact rest: sums of their products keep every digit."""
    high = np.round(values * GRID) / GRID
    return high, values - high


def finer(number: Twofold) -> Twofold:
    """A twofold number within 2^-20 of 0 as the nearest multiple of 2^-55 and the rest: sums of the former keep every digit."""
    high = np.round(number[0] * FINE) / FINE
    return high, (number[0] - high) + number[1]


def plus(a: Floats, b: Floats) -> Twofold:
    """a + b exactly."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def times(a: Floats, b: Floats) -> Twofold:
    """a b exactly, short of overflow and underflow."""
    product = a * b
    high_a, high_b = SPLIT * a - (SPLIT * a - a), SPLIT * b - (SPLIT * b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def multiply(a: Twofold, b: Twofold) -> Twofold:
    """a b of two twofold numbers."""
    high, low = times(a[0], b[0])
    return plus(high, low + a[0] * b[1] + a[1] * b[0])


def subtract(a: Twofold, b: Twofold) -> Twofold:
    """a - b of two twofold numbers."""
    high, low = plus(a[0], -b[0])
    return plus(high, low + (a[1] - b[1]))
