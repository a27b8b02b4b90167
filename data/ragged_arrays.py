"""Array types, and ragged arrays, in which each row owns a range of entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def entries_of(first: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Find the entries that belong to some rows, given by index, shape (rows,).

    ``first`` is the index of the first entry of each row and, last, the number of entries; shape (all rows + 1,). Returns it for
    the chosen rows, counted among their own entries, shape (rows + 1,), and the indices of these entries.

    >>> entries_of(np.array([0, 2, 3, 6]), np.array([0, 2]))
    (array([0, 2, 5]), array([0, 1, 3, 4, 5]))
    """
    counts = np.diff(first)[rows]
    starts = np.append(0, np.cumsum(counts))
    return starts, np.repeat(first[rows] - starts[:-1], counts) + np.arange(starts[-1])
