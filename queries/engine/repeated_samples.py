"""Repeated samples: the answers to questions that a run answered several times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queries.metrics.kernels.arrays import Floats, Ints


@dataclass(frozen=True)
class Samples:
    """The samples of questions that have several: their statistics by name, and the evidence's row of each, shape (samples,)."""

    row: Ints
    sums: dict[str, Floats]

    def of_rows(self, rows: NDArray[np.bool_]) -> Samples:
        """Select the samples of the rows for which ``rows``, shape (rows,), is true, and renumber the rows."""
        kept = rows[self.row]
        number = np.cumsum(rows) - 1
        return Samples(number[self.row[kept]], {name: values[kept] for name, values in self.sums.items()})

    def moved(self, row: Ints) -> Samples:
        """Return the samples for reordered rows of the evidence, given by the new number of each row, shape (rows,)."""
        return Samples(row[self.row], self.sums)

    def means(self, columns: Mapping[str, Floats], rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """Replace the value of each row that has samples by the mean over its samples.

        If there is a column ``questions``, which says where a metric is defined, the mean is that over the samples where it is.
        """
        result = {}
        for name, values in rows.items():
            counts = np.bincount(self.row, minlength=len(values))
            sums = np.bincount(self.row, columns[name], len(values))
            result[name] = np.where(counts > 0, sums / np.maximum(counts, 1), values)
        if "questions" in result:
            defined = result["questions"]
            result = {
                name: np.where(defined > 0, values / np.where(defined > 0, defined, 1.0), values)
                for name, values in result.items()
            }
        return result
