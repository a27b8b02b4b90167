"""The statistics and items of runs as columns in memory: read once for each run, filtered as often as asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from data.duckdb_and_polars import SqlParameters
from data.human_curves import CURVES
from data.ragged_arrays import entries_of
from data.store import Snapshot
from data.store.run_cache import Sized
from data.sufficient_statistics import BIN_COLUMNS, BINS, BINS_USED, CURVE_SUMS, Bins, Items, sums
from queries.metrics.kernels.arrays import Floats, Ints
from queries.query_time_limit import check_time_limit

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
class RunItems:
    """The items of one run, by question and, within one, by sample and clue. Questions are the rows.

    Attributes:
        positions: position in the dataset of the question of each row, ascending, shape (rows,).
        first: index of each row's first item and, last, the number of items, shape (rows + 1,).
        clue, confidence, correct: of each item, shape (items,).
        sample: number of each item's sample, the same in all questions, shape (items,). None where the run has one answer to
            each clue.
    """

    positions: NDArray[np.int32]
    first: Ints
    clue: NDArray[np.int32]
    confidence: Floats
    correct: Floats
    sample: Ints | None = None

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        arrays = (self.positions, self.first, self.clue, self.confidence, self.correct, self.sample)
        return sum(array.nbytes for array in arrays if array is not None)

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


def row_positions(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[NDArray[np.int32]]:
    """Position in the dataset of the question of each row of the statistics of each run, ascending.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.

    Returns:
        An array of shape (rows,) per run.
    """
    return _statistics(snapshot, dataset, runs, "positions", ["position"], lambda table: table["position"].to_numpy())


def statistic_columns(snapshot: Snapshot, dataset: str, runs: Sequence[str], names: Collection[str]) -> dict[str, list[Floats]]:
    """Columns of the statistics of each run, in the order of ``row_positions``. Those not in memory are read in one scan.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids, in the order of the result.
        names: of the columns.

    Returns:
        For each name, an array of shape (rows,) per run, NaN for null.
    """
    tables: dict[str, pl.DataFrame] = {}

    def read(name: str, missing: list[str]) -> dict[str, Floats]:
        unread = [run for run in missing if run not in tables]
        if unread:
            tables.update(snapshot.read_runs("statistics", unread, sorted(names)))
        return {run: float_array(tables[run][name]) for run in missing}

    def compute(name: str, missing: list[str]) -> dict[str, Floats]:
        return {run: sums(items, [name])[name] for run, items in _items_with_curves(snapshot, dataset, missing)}

    def source(name: str) -> Callable[[list[str]], dict[str, Floats]]:
        # Those of human curves are stored for the people who were imported.
        return partial(compute if snapshot.people and name in CURVE_SUMS else read, name)

    return {name: snapshot.cached(dataset, f"statistics.{name}", runs, source(name)) for name in sorted(names)}


def _items_with_curves(snapshot: Snapshot, dataset: str, runs: list[str]) -> Iterator[tuple[str, Items]]:
    """The items of each run with the human curves at them."""
    curves, first = clues(snapshot, dataset).curves, clues(snapshot, dataset).first
    for run, part in zip(runs, run_items(snapshot, dataset, runs), strict=True):
        row = np.repeat(np.arange(len(part.positions)), np.diff(part.first))
        at = first[part.positions[row]] + part.clue
        sequences = None if part.sample is None else sequence_starts(row, part.sample)
        here = None if curves is None else {name: curve[at] for name, curve in curves.items()}
        yield run, Items(part.confidence, part.correct, part.first, here, sequences)


def sequence_starts(question: Ints, sample: Ints) -> Ints:
    """Where each sample of each question begins among items in their order, and last the number of items."""
    new = (np.diff(question, prepend=-1) != 0) | (np.diff(sample, prepend=-1) != 0)
    return np.append(np.flatnonzero(new), len(question))


def run_bins(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[Bins]:
    """The bins of confidence of the statistics of each run, in the order of ``row_positions``.

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

    def read(missing: list[str]) -> dict[str, RunItems]:
        sampled = {run for (run,) in snapshot.rows("select run from runs where samples > 1")}
        columns = ("clue", "confidence", "correct", *(("sample",) if sampled.intersection(missing) else ()))
        return {
            run: RunItems(
                order.positions,
                order.first,
                table["clue"].to_numpy()[order.rows],
                float_array(table["confidence"])[order.rows],
                float_array(table["correct"])[order.rows],
                sample_numbers(table["sample"])[order.rows] if run in sampled else None,
            )
            for run, order, table in responses_in_order(snapshot, dataset, missing, columns, failed=failed)
        }

    return snapshot.cached(dataset, "items and failed calls" if failed else "items", runs, read)


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

    def read(missing: list[str]) -> dict[str, Floats]:
        columns = ("list_sum(token_logprobs) as logprob",)
        return {
            run: float_array(table["logprob"])[order.rows]
            for run, order, table in responses_in_order(snapshot, dataset, missing, columns, failed=failed)
        }

    return snapshot.cached(dataset, "logprobs of items and failed calls" if failed else "logprobs", runs, read)


def clues(snapshot: Snapshot, dataset: str) -> Clues:
    """The clues of a dataset and the human curves at them."""

    def read(_: list[str]) -> dict[str, Clues]:
        # Rows are numbered in the order of the table, as ``clue_mask`` gets them.
        table = snapshot.frame(
            f"""select q.position, c.row, {", ".join(f"h.{name}" for name in CURVES)}
            from (select *, row_number() over () - 1 as row from clues where dataset = $dataset) c
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


def sample_numbers(samples: pl.Series) -> Ints:
    """A number for each name of a sample, from 0, shape (items,)."""
    numbers: Ints = np.unique(samples.fill_null("").to_numpy(), return_inverse=True)[1].astype(np.int64)
    return numbers


def float_array(column: pl.Series) -> Floats:
    """A column of n rows as floats, shape (n,), NaN for null."""
    if column.dtype == pl.Float64 and not column.null_count():
        return column.to_numpy()
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
    """What is made of columns of each run's statistics, of one row per question."""

    def read(missing: list[str]) -> dict[str, V]:
        return {run: convert(table) for run, table in snapshot.read_runs("statistics", missing, columns).items()}

    return snapshot.cached(dataset, name, runs, read)


@dataclass(frozen=True)
class ResponseOrder:
    """How to put the responses of a run in the order of questions, those of a question by clue.

    Attributes:
        positions: of the questions, ascending, shape (questions,).
        first: index of each question's first response and, last, the number of responses, shape (questions + 1,).
        rows: of the responses in the file, in this order.
    """

    positions: NDArray[np.int32]
    first: Ints
    rows: Ints


def responses_in_order(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], columns: Sequence[str], *, failed: bool
) -> Iterator[tuple[str, ResponseOrder, pl.DataFrame]]:
    """Columns of the responses of each run as they are stored, by question id and clue; and how to put them in order.

    Args:
        snapshot: the store.
        dataset: of the runs.
        runs: their ids.
        columns: SQL of each.
        failed: whether failed calls are among the rows.
    """
    # Where every response is counted by the statistics, they tell how many each question has: to read the ids takes longer.
    sizes_of_runs = statistic_columns(snapshot, dataset, runs, ["items"])["items"]
    tables = snapshot.read_runs("responses", runs, columns)
    # The others have failed calls, or answered questions that are gone.
    counted = {run: len(tables[run]) == sizes.sum() for run, sizes in zip(runs, sizes_of_runs, strict=True)}
    by_id = _responses_by_id(snapshot, dataset, [run for run in runs if not counted[run]], columns, failed)
    id_order = snapshot.frame("select position from questions where dataset = $d order by question_id", {"d": dataset})
    places = id_order["position"].to_numpy()
    place_of = np.empty(places.max(initial=-1) + 1, np.int64)
    place_of[places] = np.arange(len(places))
    for run, positions, sizes in zip(runs, row_positions(snapshot, dataset, runs), sizes_of_runs, strict=True):
        check_time_limit()
        if not counted[run]:
            yield next(by_id)
            continue
        rows = np.argsort(place_of[positions])
        yield run, _response_order(positions, sizes[rows].astype(np.int64), np.argsort(rows)), tables.pop(run)


def _responses_by_id(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], columns: Sequence[str], failed: bool
) -> Iterator[tuple[str, ResponseOrder, pl.DataFrame]]:
    """The same, by the ids that stand beside the responses."""
    if not runs:
        return
    questions = snapshot.frame("select question_id, position from questions where dataset = $d", {"d": dataset})
    known = np.empty(0, np.int64)  # position of each question that the run answered; often those of the run before
    before = pl.DataFrame({"question_id": []}, schema={"question_id": pl.String})
    for run, table in snapshot.read_runs("responses", runs, ["question_id", "failed", *columns]).items():
        check_time_limit()
        kept = table if failed or not table["failed"].any() else table.filter(~table["failed"])
        spans = kept["question_id"].rle().struct.unnest()
        sizes = spans["len"].to_numpy().astype(np.int64)
        names = spans.select(question_id="value")
        if not names.equals(before):
            places = names.join(questions, on="question_id", how="left", maintain_order="left")
            known, before = places["position"].fill_null(-1).to_numpy(), names
        order = np.argsort(known, kind="stable")
        order = order[known[order] >= 0]  # a withdrawn run may have answered questions that are gone
        yield run, _response_order(known[order].astype(np.int32), sizes, order), kept


def _response_order(positions: NDArray[np.int32], sizes: Ints, order: Ints) -> ResponseOrder:
    """How to put responses in order.

    Args:
        positions: of the questions, ascending, shape (questions,).
        sizes: how many responses each question has, in the order of the file, shape (questions in the file,).
        order: which of those each question is, shape (questions,).
    """
    counts = sizes[order]
    first, starts = np.append(0, np.cumsum(counts)), np.cumsum(sizes) - sizes
    rows = np.repeat(starts[order] - first[:-1], counts) + np.arange(first[-1])
    return ResponseOrder(positions, first, rows)
