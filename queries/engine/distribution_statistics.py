"""Statistics of whole distributions and human votes, per run and question, for the metrics of human disagreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clueline.data.ragged_arrays import Floats, Ints
from clueline.data.store import Snapshot
from clueline.data.sufficient_statistics import BINS, bin_of
from clueline.queries.engine.distribution_columns import Classes, RunDistributions, dataset_classes, run_distributions
from clueline.queries.engine.run_columns import SparseColumn, joined
from clueline.queries.engine.selected_answers import item_filters
from clueline.queries.metrics import Conventions
from clueline.queries.metrics.counted_answers import CONFIDENT
from clueline.queries.metrics.kernels import bins, distributions
from clueline.queries.selection import Selection

# Maximum number of classes of a dataset that names none. With more, the options of each question are not treated as classes.
MAX_CLASSES = 100

# For each statistic, the column of items that is summed over the items of a question. Items without a whole distribution add 0.
SUMS: dict[str, Callable[[Callable[[str], NDArray[Any]]], NDArray[Any]]] = {
    "gold_items": lambda items: np.isfinite(items("quadratic")),  # items with a known right class
    "quadratic": lambda items: items("quadratic"),  # sum over classes of (p - gold)^2 / classes
    "voted_items": lambda items: items("majority") >= 0,  # items on whose question people voted
    "distance": lambda items: items("distance"),  # TVD(f, pi)
    "entropy_gap": lambda items: items("entropy_gap"),  # H(f) - H(pi)
    "entropy_gap_abs": lambda items: np.abs(items("entropy_gap")),
    "ranked_same": lambda items: items("same_ranking"),
    "ranked_compatibly": lambda items: items("compatible_ranking"),
    "reference_items": lambda items: items("reference_bin") >= 0,  # items with a human reference
}
COLUMNS = (
    *SUMS,
    "distance_bins",  # (30) items with a reference, by TVD(f, pi)
    "reference_bins",  # (30) the same items, by the TVD of the reference
    "class_items",  # items that count in class_gaps
    "class_gaps",  # (classes x bins) sum of p_k - [gold = k] per bin of p_k
)


def selected_distributions(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], questions: Ints
) -> list[RunDistributions]:
    """Return the whole distributions of each run for the items that a selection keeps, of questions at some positions."""
    parts = run_distributions(snapshot, selection.dataset, runs)
    filters = item_filters(snapshot, selection, runs, questions, CONFIDENT.states)
    return [
        part.take(np.flatnonzero(item_filter.kept(part.items, part.positions, part.clues)))
        for part, item_filter in zip(parts, filters, strict=True)
    ]


def distribution_sums(
    snapshot: Snapshot,
    selection: Selection,
    runs: Sequence[str],
    questions: Ints,
    rows: tuple[Ints, Ints],
    wanted: Set[str],
    replaced: Mapping[str, RunDistributions],
) -> tuple[dict[str, Floats], dict[str, SparseColumn]]:
    """Compute some of ``COLUMNS`` for ascending pairs of a run and a question, shape (rows,) or (rows, width) each, by name.

    ``questions`` are ascending positions in the dataset. ``wanted`` names not in ``COLUMNS`` are ignored. ``replaced`` has
    distributions by run to use instead of the stored ones.
    """
    parts, rows_of_parts = [], []
    for index, stored in enumerate(selected_distributions(snapshot, selection, runs, questions)):
        part = replaced.get(runs[index], stored)
        row = _rows_of_items(part, index, questions, *rows)
        parts.append(part.take(np.flatnonzero(row >= 0)))
        rows_of_parts.append(row[row >= 0])
    row, count = joined(rows_of_parts, np.int64), len(rows[0])

    def items(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0)

    columns, binned = {}, {}
    for name in sorted(wanted & SUMS.keys()):
        columns[name] = np.bincount(row, np.nan_to_num(SUMS[name](items)), count).astype(float, copy=False)
    for name, bin_name in (("distance_bins", "distance_bin"), ("reference_bins", "reference_bin")):
        if name in wanted:
            counted = np.flatnonzero(items("reference_bin") >= 0)
            ones = np.ones(len(counted))
            binned[name] = _sparse(row[counted], items(bin_name)[counted].astype(np.int64), ones, count, distributions.ERROR_BINS)
    if wanted & {"class_items", "class_gaps"}:
        classes = dataset_classes(snapshot, selection.dataset)
        columns["class_items"], binned["class_gaps"] = _class_gaps(parts, rows_of_parts, count, classes, selection.conventions)
    return columns, binned


def _rows_of_items(part: RunDistributions, run: int, questions: Ints, run_of_rows: Ints, question_of_rows: Ints) -> Ints:
    """Return the row of each item of one run, -1 for an item without a row, shape (items,)."""
    first, end = np.searchsorted(run_of_rows, [run, run + 1])
    positions = questions[question_of_rows[first:end]]
    row_of_position = np.full(max(positions.max(initial=-1), part.positions.max(initial=-1)) + 1, -1)
    row_of_position[positions] = np.arange(first, end)
    return row_of_position[part.positions]


def _sparse(row: Ints, place: NDArray[np.integer[Any]], values: Floats, rows: int, width: int) -> SparseColumn:
    """Build a column from entries that are sorted by row."""
    return SparseColumn(np.append(0, np.cumsum(np.bincount(row, minlength=rows))), place, values, width)


def _class_gaps(
    parts: Sequence[RunDistributions], rows_of_parts: Sequence[Ints], rows: int, classes: Classes, conventions: Conventions
) -> tuple[Floats, SparseColumn]:
    """Return the number of items per row, and the sum of p_k - [gold = k] per row, class and bin of p_k."""
    count = conventions.mass_bins or BINS
    entries = [(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))]
    items = np.zeros(rows)
    for part, row in zip(parts, rows_of_parts, strict=True) if comparable(classes) else ():
        voted = part.voted()
        rows_of_voted = row[part.majority >= 0]
        items += np.bincount(rows_of_voted, minlength=rows)
        if conventions.mass_bins:
            shares = voted.class_shares(len(classes.names))
            bins_of_shares = (
                np.array([class_bin(column, conventions)[0] for column in shares.T], np.int64).reshape(shares.T.shape).T
            )
            gaps = shares - (voted.majority[:, None] == np.arange(len(classes.names)))
            place = np.arange(len(classes.names)) * count + bins_of_shares
            row_of_entry = np.repeat(rows_of_voted, len(classes.names))
            entries.append((row_of_entry, place.ravel(), gaps.ravel()))
        else:
            bin_ = voted.share_bin if conventions.closed == "left" else bin_of(voted.shares, closed=conventions.closed)
            gaps = voted.shares - (voted.classes == np.repeat(voted.majority, voted.class_counts))
            known = voted.classes >= 0
            entries.append(
                (np.repeat(rows_of_voted, voted.class_counts)[known], (voted.classes * count + bin_)[known], gaps[known])
            )
    row, place, gaps = (np.concatenate(column) for column in zip(*entries, strict=True))
    return items, _sparse(row, place, gaps, rows, len(classes.names) * count)


def comparable(classes: Classes) -> bool:
    """Check whether questions share the classes: not if a dataset names no classes and each question has its own options."""
    return classes.named or len(classes.names) <= MAX_CLASSES


def class_bin(shares: Floats, conventions: Conventions) -> tuple[Ints, int]:
    """Return the bin, from 0, of the shares that a run gives to one class, shape (items,), and the number of bins.

    Equal-mass bins are cut over these items. There are eleven equal-width bins, as in the store.
    """
    if conventions.mass_bins is None:
        return bin_of(shares, closed=conventions.closed), BINS
    order, bin_of_ordered = bins.assign_mass_bins(shares, np.array([len(shares)]), conventions.mass_bins)
    bin_of_item = np.empty(len(shares), dtype=np.int64)
    bin_of_item[order] = bin_of_ordered
    return bin_of_item, conventions.mass_bins
