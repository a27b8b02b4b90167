"""Arithmetic that the other kernels share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DECIMAL = 10_000  # numbers in [0, 1] of up to four digits are whole multiples of its inverse
FLAT = 1e-12  # a spread below this share of the sum of squares is rounding; so is a sum of weights below it


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """numerator / denominator, NaN where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def clip(values: Floats) -> Floats:
    """Values in [0, 1], NaN kept: where sums nearly cancel, rounding can carry them a few ulp or more past an end."""
    clipped: Floats = np.clip(values, 0.0, 1.0)
    return clipped


def distinct(values: Floats) -> tuple[Floats, Ints]:
    """The different values, ascending, shape (k,), and which of them each is, shape (n,)."""
    number = np.rint(np.clip(values, 0.0, 1.0) * DECIMAL).astype(np.int64)
    if (number / DECIMAL != values).any():
        return np.unique(values, return_inverse=True)
    # As people and models mostly state confidences: counted, which is faster than sorted.
    present = np.zeros(DECIMAL + 1, dtype=bool)
    present[number] = True
    return np.flatnonzero(present) / DECIMAL, (np.cumsum(present) - 1)[number]
