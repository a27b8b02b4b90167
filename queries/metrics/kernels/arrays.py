"""Arithmetic that the other kernels share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DECIMAL = 10_000  # numbers in [0, 1] of up to four digits are whole multiples of its inverse
FLAT = 1e-12  # a spread below this share of the sum of squares is rounding; so is a sum of weights below it


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient of two arrays that broadcast, NaN where the denominator is 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    above, below = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def clip(values: Floats) -> Floats:
    """Values cut to [0, 1], NaN kept. Where sums nearly cancel, rounding can carry them a few ulp past an end."""
    clipped: Floats = np.clip(values, 0.0, 1.0)
    return clipped


def distinct(values: Floats) -> tuple[Floats, Ints]:
    """The different values, and which of them each value is. As ``np.unique`` with its inverse.

    Numbers in [0, 1] of at most four digits, as people and models mostly state confidences, are counted. This is faster than
    sorting.

    Args:
        values: shape (n,).

    Returns:
        The different values, ascending, shape (k,), and their index for each value, shape (n,).

    >>> distinct(np.array([0.5, 0.2, 0.5]))
    (array([0.2, 0.5]), array([1, 0, 1]))
    """
    number = np.rint(np.clip(values, 0.0, 1.0) * DECIMAL).astype(np.int64)
    if (number / DECIMAL != values).any():
        return np.unique(values, return_inverse=True)
    # As people and models mostly state confidences: counted, which is faster than sorted.
    present = np.zeros(DECIMAL + 1, dtype=bool)
    present[number] = True
    return np.flatnonzero(present) / DECIMAL, (np.cumsum(present) - 1)[number]


def first_of_ties(ascending: Floats) -> NDArray[np.int64]:
    """Index of the first of each run of equal values."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
