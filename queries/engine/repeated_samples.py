"""The samples of questions that a run answered several times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queries.metrics.kernels.arrays import Floats, Ints


@dataclass(frozen=True)
class Samples:
    """The samples of questions that have several.

    Attributes:
        row: of the evidence that each sample belongs to, shape (samples,).
        sums: its statistics, each of shape (samples,).
    """

    row: Ints
    sums: dict[str, Floats]

    def of_rows(self, rows: NDArray[np.bool_]) -> Samples:
        """The samples of some rows, which are numbered anew."""
        kept = rows[self.row]
        number = np.cumsum(rows) - 1
        return Samples(number[self.row[kept]], {name: values[kept] for name, values in self.sums.items()})

    def means(self, columns: Mapping[str, Floats], rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """Columns of the evidence, of shape (rows,), with the mean over the samples of a row in place of its own value.

        Args:
            columns: of samples, each of shape (samples,).
            rows: of the evidence.
        """
        result = {}
        for name, values in rows.items():
            counts = np.bincount(self.row, minlength=len(values))
            sums = np.bincount(self.row, columns[name], len(values))
            result[name] = np.where(counts > 0, sums / np.maximum(counts, 1), values)
        return result
