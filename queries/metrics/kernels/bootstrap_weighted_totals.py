"""Weights of items under many weightings at once, such as bootstrap replicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from clueline.queries.metrics.kernels.arrays import Floats, Ints

IN_CACHE = 65_536  # numbers processed at a time: more do not fit in the processor's cache, which takes three times as long
FEW_WEIGHTINGS = 16  # with fewer weightings, numpy's cumulative sum along an axis is faster than a loop over rows


@dataclass(frozen=True)
class ItemWeights:
    """How often each item counts, in each of k weightings. The items of a group share their weights.

    ``group`` is that of each item, from 0, shape (n,), and ``by_group`` the weights of groups, shape (groups, k).
    """

    group: Ints
    by_group: Floats

    @classmethod
    def equal(cls, items: int) -> ItemWeights:
        """Return the weights of the data themselves: one weighting, in which each item counts once."""
        return cls(np.zeros(items, np.int64), np.ones((1, 1)))

    @property
    def count(self) -> int:
        return int(self.by_group.shape[1])

    def sorted(self, order: Ints) -> ItemWeights:
        """Return the weights of the items in a new order, shape (n,)."""
        return ItemWeights(self.group[order], self.by_group)

    def batches(self, size: int) -> Iterator[ItemWeights]:
        """Yield the weights in batches of at most ``size`` weightings."""
        for first in range(0, self.count, size):
            yield ItemWeights(self.group, np.ascontiguousarray(self.by_group[:, first : first + size]))

    def sums(self, *columns: Floats) -> Floats:
        """Return the weighted sum over all items of each column of shape (n,), shape (columns, k)."""
        totals = np.stack([np.bincount(self.group, column, len(self.by_group)) for column in columns])
        return totals @ self.by_group

    def totals_of_cells(self, values: Floats | None, cell: Ints, cells: int) -> Floats:
        """Return the weighted sums of values, shape (n,), in a few cells, from the cell of each item, shape (cells, k).

        Without values, items are counted; weights must then be whole numbers. Single precision is exact up to 2^24, and twice as
        fast.
        """
        groups, kind = len(self.by_group), np.float32 if values is None else np.float64
        of_cells = np.bincount(cell * groups + self.group, values, cells * groups).reshape(cells, groups).astype(kind, copy=False)
        result: Floats = (of_cells @ self.by_group.astype(kind, copy=False)).astype(float, copy=False)
        return result

    def totals(self, values: Floats, firsts: Ints) -> Floats:
        """Return the weighted sums of values, shape (n,), over groups of items from each of ``firsts`` on, shape (groups, k)."""
        if self.count == 1 and len(firsts):
            return np.add.reduceat(values * self.by_group[self.group, 0], firsts)[:, None]
        result: Floats = self._matrix(values, firsts) @ self.by_group
        return result

    def totals_in_batches(self, size: int, firsts: Ints, *columns: Floats) -> Iterator[tuple[Floats, ...]]:
        """Yield the totals of each column for at most ``size`` weightings at a time, shape (groups, size) each."""
        matrices = [self._matrix(column, firsts) for column in columns]
        for batch in self.batches(size):
            yield tuple(matrix @ batch.by_group for matrix in matrices)

    def totals_in_parts(self, firsts: Ints, *columns: Floats) -> Iterator[tuple[Floats, ...]]:
        """Yield the totals, which the caller can change, for some groups at a time, to fit in the processor's cache."""
        if self.count == 1:
            if len(firsts):
                yield tuple(self.totals(column, firsts) for column in columns)
            return
        matrices = [self._matrix(column, firsts) for column in columns]
        rows = max(1, IN_CACHE // max(self.count, 1))
        for first in range(0, len(firsts), rows):
            yield tuple(matrix[first : first + rows] @ self.by_group for matrix in matrices)

    def _matrix(self, values: Floats, firsts: Ints) -> csr_array:
        """Return what each weight group contributes to each total per unit of weight, shape (len(firsts), groups)."""
        used = np.flatnonzero(values)
        ends = np.searchsorted(used, np.append(firsts, len(values)))
        return csr_array((values[used], self.group[used], ends), shape=(len(firsts), len(self.by_group)))


def cumulate(totals: Floats, before: Floats) -> Floats:
    """Turn totals of shape (rows, k), at least one row, into running totals, in place.

    ``before``, shape (k,), is the running total before the first row. Returns a copy of the last row.
    """
    totals[0] += before
    if totals.shape[1] < FEW_WEIGHTINGS:
        np.cumsum(totals, axis=0, out=totals)
    else:
        for row in range(1, len(totals)):
            np.add(totals[row - 1], totals[row], out=totals[row])
    last: Floats = totals[-1].copy()
    return last
