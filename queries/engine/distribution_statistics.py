"""Statistics of whole distributions and human votes, per run and question: what the metrics of disagreement are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.ragged_arrays import Floats, Ints
from data.store import Snapshot
from data.sufficient_statistics import BINS, bin_of
from queries.engine import run_columns
from queries.engine.distribution_columns import Classes, RunDistributions, dataset_classes, run_distributions
from queries.engine.item_filter import ItemFilter, attribute_masks
from queries.engine.run_columns import SparseColumn, joined
from queries.metrics import Conventions
from queries.metrics.kernels import bins, distributions
from queries.selection import Selection

MAX_CLASSES = 100  # of a dataset that names none: where each question has options of its own, there are no classes

# Sums over the items of a question, of a column of items. Items without a whole distribution are in none, and add 0.
SUMS: dict[str, Callable[[Callable[[str], NDArray[Any]]], NDArray[Any]]] = {
    "gold_items": lambda items: np.isfinite(items("quadratic")),  # whose right class is known
    "quadratic": lambda items: items("quadratic"),  # sum over classes of (p - gold)^2 / classes
    "voted_items": lambda items: items("majority") >= 0,  # to whose question people gave votes
    "distance": lambda items: items("distance"),  # TVD(f, pi)
    "entropy_gap": lambda items: items("entropy_gap"),  # H(f) - H(pi)
    "entropy_gap_abs": lambda items: np.abs(items("entropy_gap")),
    "ranked_same": lambda items: items("same_ranking"),
    "ranked_compatibly": lambda items: items("compatible_ranking"),
    "reference_items": lambda items: items("reference_bin") >= 0,  # that the human reference could be drawn for
}
COLUMNS = (
    *SUMS,
    "distance_bins",  # (30) items with a reference, by TVD(f, pi)
    "reference_bins",  # (30) the same items, by the reference's TVD
    "class_items",  # that are in class_gaps
    "class_gaps",  # (classes x bins) sum of p_k - [gold = k] per bin of p_k
)


def selected_distributions(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], questions: Ints
) -> list[RunDistributions]:
    """The whole distributions of each run that a selection keeps.

    Args:
        snapshot: the store.
        selection: its filters on clues and responses count.
        runs: ids of the chosen runs, in the order of the result.
        questions: positions of the chosen questions, shape (questions,).
    """
    item_filter = ItemFilter.read(snapshot, selection)
    masks = attribute_masks(snapshot, selection, runs, failed=False)
    results = []
    for part, mask in zip(run_distributions(snapshot, selection.dataset, runs), masks, strict=True):
        chosen = np.zeros(max(questions.max(initial=-1), part.positions.max(initial=-1)) + 1, dtype=bool)
        chosen[questions] = True
        kept = chosen[part.positions]
        if selection.filters_items:
            first = run_columns.clues(snapshot, selection.dataset).first
            kept[kept] = item_filter.kept(mask, part.items[kept], first[part.positions[kept]] + part.clues[kept])
        results.append(part.take(np.flatnonzero(kept)))
    return results


def distribution_sums(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], questions: Ints, rows: tuple[Ints, Ints], wanted: Set[str]
) -> tuple[dict[str, Floats], dict[str, SparseColumn]]:
    """Some of ``COLUMNS``, of each row.

    Args:
        snapshot: the store.
        selection: its filter on clues and its conventions count.
        runs: ids of the chosen runs.
        questions: positions of the chosen questions, ascending, shape (questions,).
        rows: index of the run and of the question of each row, ascending, each of shape (rows,).
        wanted: names of statistics.

    Returns:
        Columns of shape (rows,), and those of shape (rows, width).
    """
    parts, rows_of_parts = [], []
    for index, part in enumerate(selected_distributions(snapshot, selection, runs, questions)):
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
    """The row of each item of one run, -1 for none, shape (items,)."""
    first, end = np.searchsorted(run_of_rows, [run, run + 1])
    positions = questions[question_of_rows[first:end]]
    row_of_position = np.full(max(positions.max(initial=-1), part.positions.max(initial=-1)) + 1, -1)
    row_of_position[positions] = np.arange(first, end)
    return row_of_position[part.positions]


def _sparse(row: Ints, place: NDArray[np.integer[Any]], values: Floats, rows: int, width: int) -> SparseColumn:
    """A column from entries by ascending row."""
    return SparseColumn(np.append(0, np.cumsum(np.bincount(row, minlength=rows))), place, values, width)


def _class_gaps(
    parts: Sequence[RunDistributions], rows_of_parts: Sequence[Ints], rows: int, classes: Classes, conventions: Conventions
) -> tuple[Floats, SparseColumn]:
    """Items per row, and the sum of p_k - [gold = k] per row, class and bin of p_k."""
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
    """Whether the classes are those of many questions: not if a dataset names none and each question has options of its own."""
    return classes.named or len(classes.names) <= MAX_CLASSES


def class_bin(shares: Floats, conventions: Conventions) -> tuple[Ints, int]:
    """Bin of the share of one class that a run gives to each of its items, shape (items,), and how many bins there are.

    Bins of equal mass are cut over these items. Those of equal width are eleven, as in the store.
    """
    if conventions.mass_bins is None:
        return bin_of(shares, closed=conventions.closed), BINS
    order, bin_of_ordered = bins.assign_mass_bins(shares, np.array([len(shares)]), conventions.mass_bins)
    bin_of_item = np.empty(len(shares), dtype=np.int64)
    bin_of_item[order] = bin_of_ordered
    return bin_of_item, conventions.mass_bins
