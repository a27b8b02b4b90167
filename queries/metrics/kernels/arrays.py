"""Array arithmetic shared by the other kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clueline.data.ragged_arrays import Floats, Ints

DECIMAL = 10_000  # numbers in [0, 1] with up to four decimals are whole multiples of 1 / DECIMAL
# A spread below this share of the sum of squares is rounding error, and so is a sum of weights below it.
ROUNDING_TOLERANCE = 1e-12


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide two arrays that broadcast; NaN where the denominator is 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    above, below = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def clip(values: Floats) -> Floats:
    """Clip values to [0, 1], keeping NaN. Where sums nearly cancel, rounding can carry a value a few ulp past an end."""
    return np.clip(values, 0.0, 1.0)


def distinct(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct values, ascending, and the index of each value among them, like ``np.unique`` with ``return_inverse``.

    Numbers in [0, 1] with at most four decimals, the usual form of stated confidences, are counted instead of sorted, which is
    faster.

    >>> distinct(np.array([0.5, 0.2, 0.5]))
    (array([0.2, 0.5]), array([1, 0, 1]))
    """
    number = np.rint(np.clip(values, 0.0, 1.0) * DECIMAL).astype(np.int64)
    if (number / DECIMAL != values).any():
        return np.unique(values, return_inverse=True)
    present = np.zeros(DECIMAL + 1, dtype=bool)
    present[number] = True
    return np.flatnonzero(present) / DECIMAL, (np.cumsum(present) - 1)[number]


def first_of_ties(ascending: Floats) -> NDArray[np.int64]:
    """Return the index of the first value of each group of equal values, shape (groups,)."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
