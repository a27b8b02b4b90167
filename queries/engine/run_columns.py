"""The statistics and items of runs as columns in memory: read once for each run, filtered as often as asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from data.human_curves import CURVES
from data.polars_frames import SqlParameters
from data.ragged_arrays import entries_of
from data.statistics import BIN_COLUMNS, BINS, BINS_USED, Bins
from data.store import Snapshot
from data.store.memory import Sized
from queries.metrics.kernels.arrays import Floats, Ints

V = TypeVar("V", bound=Sized)


@dataclass(frozen=True)
class SparseColumn:
    """A column of shape (rows, width) of which most is 0: what is not 0, by row and, within one, by bin.

    Attributes:
        first: index of each row's first entry and, last, how many entries there are, shape (rows + 1,).
        bin: of each entry, shape (entries,).
        values: of each entry, shape (entries,).
        width: number of bins.
    """

    first: Ints
    bin: NDArray[np.integer[Any]]
    values: Floats
    width: int = BINS

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> SparseColumn:
        """Some rows."""
        first, entries = entries_of(self.first, np.arange(len(self))[rows])
        return SparseColumn(first, self.bin[entries], self.values[entries], self.width)


def sum_by_place(column: Floats | SparseColumn, places: Ints, count: int) -> Floats:
    """Totals of a column of shape (rows, ...) over the rows of each of ``count`` places: shape (count, ...).

    Args:
        column: what is added up.
        places: of each row, shape (rows,).
        count: how many places there are.
    """
    if isinstance(column, SparseColumn):
        width = column.width
        cells = np.repeat(places * width, np.diff(column.first)) + column.bin
        return np.bincount(cells, column.values, count * width).astype(float, copy=False).reshape(count, width)
    flat = column.reshape(len(column), math.prod(column.shape[1:]))  # no columns where a dataset has no classes
    totals = np.zeros((count, flat.shape[1]))
    for index, values in enumerate(flat.T):
        totals[:, index] = np.bincount(places, values, count)
    return totals.reshape(count, *column.shape[1:])


def dense(column: Floats | SparseColumn) -> Floats:
    """A column with every 0 written out, shape (rows, ...)."""
    return sum_by_place(column, np.arange(len(column)), len(column)) if isinstance(column, SparseColumn) else column


def sparse(column: Floats | SparseColumn) -> SparseColumn:
    """A column of shape (rows, width) as its entries. All of a dense one are kept."""
    if isinstance(column, SparseColumn):
        return column
    rows, width = column.shape
    return SparseColumn(np.arange(rows + 1) * width, np.tile(np.arange(width), rows), column.ravel(), width)


def bin_columns(bins: Bins) -> dict[str, SparseColumn]:
    """Each of ``BIN_COLUMNS``."""
    return {name: SparseColumn(bins.first, bins.bin, values) for name, values in bins.values.items()}


@dataclass(frozen=True)
class RowOrder:
    """The order in which the rows of one run's statistics are in memory.

    Attributes:
        positions: position in the dataset of the question of each row, ascending, shape (rows,).
        order: place of each row among the run's rows in the table, shape (rows,).
    """

    positions: NDArray[np.int32]
    order: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.positions.nbytes + self.order.nbytes


@dataclass(frozen=True)
class RunItems:
    """The items of one run, by question and, within one, by clue. Questions are the rows.

    Attributes:
        positions: position in the dataset of the question of each row, ascending, shape (rows,).
        first: index of each row's first item and, last, the number of items, shape (rows + 1,).
        clue, confidence, correct: of each item, shape (items,).
    """

    positions: NDArray[np.int32]
    first: Ints
    clue: NDArray[np.int32]
    confidence: Floats
    correct: Floats

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.positions.nbytes + self.first.nbytes + self.clue.nbytes + self.confidence.nbytes + self.correct.nbytes

    def of_rows(self, rows: Ints) -> tuple[Ints, Ints]:
        """Indices of the items of some rows, ascending ones, shape (items,); and how many each row has, shape (rows,)."""
        first, items = entries_of(self.first, rows)
        return items, np.diff(first)


@dataclass(frozen=True)
class Clues:
    """The clues of a dataset, in the order of its questions.

    Attributes:
        first: index of the first clue of the question at each position, shape (positions,).
        order: place of each clue among the dataset's rows of the table, shape (clues,).
        curves: each human curve at each clue, shape (clues,), NaN where no human team heard the question; None where the
            dataset has no curve.
    """

    first: Ints
    order: NDArray[np.int32]
    curves: dict[str, Floats] | None

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.first.nbytes + self.order.nbytes + sum(curve.nbytes for curve in (self.curves or {}).values())

    def numbered(self) -> tuple[Ints, Ints]:
        """Position of each clue's question, and its number within the question from 0, each of shape (clues,)."""
        counts = np.diff(self.first, append=len(self.order))
        return np.repeat(np.arange(len(counts)), counts), np.arange(len(self.order)) - np.repeat(self.first, counts)


def row_orders(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[RowOrder]:
    """The order of the rows of each run's statistics: by position of the question.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
    """
    sql = """select list_position($runs, s.run) as run, q.position
        from statistics s join questions q on q.dataset = s.dataset and q.question_id = s.question_id
        where s.dataset = $dataset and s.run between $first and $last and list_contains($runs, s.run) order by s.rowid"""

    def placed(_: str, table: pl.DataFrame) -> RowOrder:
        positions = table["position"].to_numpy()
        order = np.argsort(positions, kind="stable")
        return RowOrder(positions[order].astype(np.int32), order.astype(np.int32))

    return snapshot.cached(dataset, "placement", runs, lambda missing: _read(snapshot, dataset, missing, sql, placed))


def statistic_columns(snapshot: Snapshot, dataset: str, runs: Sequence[str], name: str) -> list[Floats]:
    """A column of the statistics of each run, in the order of ``row_orders``.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
        name: of the column.

    Returns:
        An array of shape (rows,) per run, NaN for null.
    """
    return _statistics(snapshot, dataset, runs, f"statistics.{name}", [name], lambda table: float_array(table[name]))


def run_bins(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[Bins]:
    """The bins of confidence of the statistics of each run, in the order of ``row_orders``.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
    """
    return _statistics(snapshot, dataset, runs, "bins", [BINS_USED, *BIN_COLUMNS], Bins.from_columns)


def run_items(snapshot: Snapshot, dataset: str, runs: Sequence[str], *, failed: bool = False) -> list[RunItems]:
    """The items of each run, by question and clue. Without failed calls, its rows are those of the run's statistics.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
        failed: whether failed calls are among the items, with confidence 0 and correctness 0.
    """

    def to_items(_: str, table: pl.DataFrame) -> RunItems:
        positions = table["position"].to_numpy()
        starts = np.flatnonzero(np.diff(positions, prepend=-1)).astype(np.int64)
        return RunItems(
            positions[starts].astype(np.int32),
            np.append(starts, len(positions)),
            table["clue"].cast(pl.Int32).to_numpy(),
            float_array(table["confidence"]),
            float_array(table["correct"]),
        )

    sql = _responses("q.position, p.clue, p.confidence, p.correct", failed)
    name = "items and failed calls" if failed else "items"
    return snapshot.cached(dataset, name, runs, lambda missing: _read(snapshot, dataset, missing, sql, to_items))


def run_logprobs(snapshot: Snapshot, dataset: str, runs: Sequence[str], *, failed: bool = False) -> list[Floats]:
    """Sum of the log-probabilities of the tokens of each item's guess, in the order of ``run_items``.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
        failed: as in ``run_items``.

    Returns:
        An array of shape (items,) per run, NaN where it is unknown.
    """
    sql = _responses("list_sum(p.token_logprobs) as logprob", failed)
    return snapshot.cached(
        dataset,
        "logprobs of items and failed calls" if failed else "logprobs",
        runs,
        lambda missing: _read(snapshot, dataset, missing, sql, lambda _, table: float_array(table["logprob"])),
    )


def clues(snapshot: Snapshot, dataset: str) -> Clues:
    """The clues of a dataset and the human curves at them."""

    def read(_: list[str]) -> dict[str, Clues]:
        table = snapshot.frame(
            f"""select q.position, c.row, {", ".join(f"h.{name}" for name in CURVES)}
            from (select *, row_number() over (order by rowid) - 1 as row from clues where dataset = $dataset) c
            join questions q using (dataset, question_id) left join curves h using (dataset, question_id, clue)
            order by q.position, c.clue""",
            {"dataset": dataset},
        )
        positions = table["position"].to_numpy()
        first = np.searchsorted(positions, np.arange(positions.max(initial=-1) + 1))
        curves = {name: float_array(table[name]) for name in CURVES}
        unheard = all(np.isnan(curve).all() for curve in curves.values())
        return {"": Clues(first, table["row"].cast(pl.Int32).to_numpy(), None if unheard else curves)}

    return snapshot.cached(dataset, "clues", [""], read)[0]


def clue_mask(snapshot: Snapshot, dataset: str, condition: str, parameters: SqlParameters) -> NDArray[np.bool_]:
    """Whether each clue of a dataset meets a condition, in the order of ``Clues``, shape (clues,).

    Args:
        snapshot: the store.
        dataset: whose clues.
        condition: SQL over the table ``clues c``.
        parameters: of the condition, with ``dataset``.
    """
    # DuckDB gives rows in the order of the table: to sort them in SQL takes eight times as long.
    sql = f"select coalesce({condition}, false) as met from clues c where c.dataset = $dataset"
    met: NDArray[np.bool_] = snapshot.frame(sql, parameters)["met"].to_numpy()
    return met[clues(snapshot, dataset).order]


def float_array(column: pl.Series) -> Floats:
    """A column of n rows as floats, shape (n,), NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def joined(parts: Sequence[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    """Arrays of shape (n,) one after the other, empty where there is none.

    Args:
        parts: the arrays.
        kind: type of the elements.
    """
    return np.concatenate([np.empty(0, kind), *parts], dtype=kind)


def _statistics(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], name: str, columns: Sequence[str], convert: Callable[[pl.DataFrame], V]
) -> list[V]:
    """What ``convert`` makes of columns of each run's statistics, one row per question in the order of ``row_orders``."""
    # DuckDB gives rows in the order of the table where nothing else is asked for.
    sql = f"""select list_position($runs, run) as run, {", ".join(columns)} from statistics
        where dataset = $dataset and run between $first and $last and list_contains($runs, run)"""

    def read(missing: list[str]) -> dict[str, V]:
        order = dict(zip(missing, row_orders(snapshot, dataset, missing), strict=True))
        return _read(snapshot, dataset, missing, sql, lambda run, table: convert(in_order(table, order[run].order)))

    return snapshot.cached(dataset, name, runs, read)


def _responses(columns: str, failed: bool) -> str:
    """SQL for columns of the responses ``p`` of some runs, by run, question and clue; ``failed``: with failed calls."""
    return f"""select list_position($runs, p.run) as run, {columns}
        from responses p join questions q on q.dataset = p.dataset and q.question_id = p.question_id
        where p.dataset = $dataset and p.run between $first and $last and list_contains($runs, p.run)
            {"" if failed else "and not p.failed"}
        order by 1, q.position, p.clue"""


def _read(snapshot: Snapshot, dataset: str, runs: list[str], sql: str, convert: Callable[[str, pl.DataFrame], V]) -> dict[str, V]:
    """What is made of the rows of each run, in the order in which ``sql`` gives them: its column ``run`` counts from 1."""
    # The runs' range lets DuckDB pass over what it need not read: rows of a run stand together.
    parameters = {"dataset": dataset, "runs": runs, "first": min(runs), "last": max(runs)}
    rows = snapshot.frame(sql, parameters)
    rows = in_order(rows, np.argsort(rows["run"].to_numpy(), kind="stable"))
    ends = np.searchsorted(rows["run"].to_numpy(), np.arange(1, len(runs) + 2))
    return {run: convert(run, rows[a:b]) for run, (a, b) in zip(runs, pairwise(ends.tolist()), strict=True)}


def in_order(table: pl.DataFrame, order: NDArray[np.integer[Any]]) -> pl.DataFrame:
    """The rows of a table in some order: mostly, they are in it already."""
    return table if (np.diff(order) == 1).all() else table[order]
