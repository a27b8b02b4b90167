"""The statistics and items of runs as in-memory columns: read once per run, then filtered for each request."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from clueline.data.human_curves import CURVES
from clueline.data.ragged_arrays import entries_of
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import State, among_states
from clueline.data.store.run_cache import Sized
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS, BINS_USED, CURVE_SUMS, UNSTORED_SUMS, Bins, Items, sums
from clueline.queries.metrics.counted_answers import CONFIDENT, CountedAnswers
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.query_time_limit import check_time_limit

V = TypeVar("V", bound=Sized)
READ_AT_ONCE = 5_000_000  # items


@dataclass(frozen=True)
class SparseColumn:
    """A mostly zero column of shape (rows, width), stored as its entries by row and, within a row, by bin.

    ``first`` is the index of each row's first entry and, last, the number of entries, shape (rows + 1,).
    """

    first: Ints
    bin: NDArray[np.integer[Any]]
    values: Floats
    width: int = BINS

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, rows: slice | NDArray[np.bool_] | Ints) -> SparseColumn:
        """Select some rows, in any order."""
        first, entries = entries_of(self.first, np.arange(len(self))[rows])
        return SparseColumn(first, self.bin[entries], self.values[entries], self.width)


@dataclass(frozen=True)
class ItemColumn:
    """A column of shape (rows, width) that is only summed: one entry for each item, with its row and bin, in any order."""

    row: Ints
    bin: Ints
    values: Floats
    width: int


def sum_by_place(column: Floats | SparseColumn | ItemColumn, places: Ints, count: int) -> Floats:
    """Sum a column of shape (rows, ...) over the rows at each place, from 0; shape (count, ...)."""
    if isinstance(column, SparseColumn | ItemColumn):
        width = column.width
        at = places[column.row] if isinstance(column, ItemColumn) else np.repeat(places, np.diff(column.first))
        cells = at * width + column.bin
        return np.bincount(cells, column.values, count * width).astype(float, copy=False).reshape(count, width)
    flat = column.reshape(len(column), math.prod(column.shape[1:]))  # width 0 if a dataset has no classes
    totals = np.zeros((count, flat.shape[1]))
    for index, values in enumerate(flat.T):
        totals[:, index] = np.bincount(places, values, count)
    return totals.reshape(count, *column.shape[1:])


def dense(column: Floats | SparseColumn) -> Floats:
    """Convert a column to a dense array, shape (rows, ...)."""
    return sum_by_place(column, np.arange(len(column)), len(column)) if isinstance(column, SparseColumn) else column


def sparse(column: Floats | SparseColumn) -> SparseColumn:
    """Convert a column of shape (rows, width) to a sparse one. All entries of a dense column are stored, zeros included."""
    if isinstance(column, SparseColumn):
        return column
    rows, width = column.shape
    return SparseColumn(np.arange(rows + 1) * width, np.tile(np.arange(width), rows), column.ravel(), width)


def bin_columns(bins: Bins) -> dict[str, SparseColumn]:
    """Return the bins as one column for each of ``BIN_COLUMNS``."""
    return {name: SparseColumn(bins.first, bins.bin, values) for name, values in bins.values.items()}


class Arrays:
    """A struct of arrays whose size the cache knows."""

    @property
    def nbytes(self) -> int:
        return sum(_size(value) for value in vars(self).values())


def _size(value: object) -> int:
    return sum(map(_size, value.values())) if isinstance(value, dict) else getattr(value, "nbytes", 0)


@dataclass(frozen=True)
class RunItems(Arrays):
    """The items of one run, sorted by question, sample and clue. Each question is a row.

    ``positions`` are those of the rows' questions in the dataset, ascending. ``first`` is the index of each row's first item and,
    last, the number of items. ``order`` are the items by ascending confidence, equal ones in their order here, shape (items,).
    ``sample`` is consistent across questions, None if the run has one answer to each clue.
    """

    positions: NDArray[np.int32]
    first: Ints
    clue: NDArray[np.int32]
    confidence: Floats
    correct: Floats
    order: NDArray[np.int32]
    sample: Ints | None = None

    def of_rows(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the items of some ascending rows, shape (items,), and the number of items of each row, shape (rows,)."""
        first, items = entries_of(self.first, rows)
        return items, np.diff(first)

    def order_of(self, items: Ints) -> NDArray[np.int32]:
        """Return the order by confidence of some ascending items, as indices of ``items``: a filter needs no sort."""
        if len(items) == len(self.order):
            return self.order
        kept = np.zeros(len(self.order), dtype=bool)
        kept[items] = True
        number = np.cumsum(kept, dtype=np.int32) - 1
        return number[self.order[kept[self.order]]]


@dataclass(frozen=True)
class Clues(Arrays):
    """The clues of a dataset, in the order of its questions.

    ``first`` is the index of the first clue at each position, and ``order`` that of each clue in the table. Human curves at each
    clue are NaN where no human team heard the question, None if the dataset has none.
    """

    first: Ints
    order: NDArray[np.int32]
    words: Floats
    curves: dict[str, Floats] | None

    def curves_at(self, clues: Ints) -> dict[str, Floats] | None:
        """Return each human curve at some clues, given by their indices, shape (n,); None if the dataset has no curves."""
        return self.curves and {name: curve[clues] for name, curve in self.curves.items()}

    def numbered(self) -> tuple[Ints, Ints]:
        """Return the position of each clue's question, and its number within the question from 0, each of shape (clues,)."""
        counts = np.diff(self.first, append=len(self.order))
        return np.repeat(np.arange(len(counts)), counts), np.arange(len(self.order)) - np.repeat(self.first, counts)


def row_positions(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[NDArray[np.int32]]:
    """Return the position in the dataset of the question of each row of each run's statistics, ascending, shape (rows,)."""
    return _statistics(snapshot, dataset, runs, "positions", ["position"], lambda table: table["position"].to_numpy())


def _statistics(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], name: str, columns: Sequence[str], convert: Callable[[pl.DataFrame], V]
) -> list[V]:
    """Read columns of each run's statistics and convert them, from and to the cache as ``name``, in the order of ``runs``."""

    def read(missing: list[str]) -> dict[str, V]:
        return {run: convert(table) for run, table in snapshot.read_runs("statistics", missing, columns).items()}

    return snapshot.cached(dataset, name, runs, read)


def statistic_columns(snapshot: Snapshot, dataset: str, runs: Sequence[str], names: Collection[str]) -> dict[str, list[Floats]]:
    """Return columns of the runs' statistics, shape (rows,) per name and run, in the order of ``row_positions``, NaN for null."""
    tables: dict[str, pl.DataFrame] = {}

    def read(name: str, missing: list[str]) -> dict[str, Floats]:
        unread = [run for run in missing if run not in tables]
        if unread:
            tables.update(snapshot.read_runs("statistics", unread, sorted({*names} - UNSTORED_SUMS.keys())))
        return {run: float_array(tables[run][name]) for run in missing}

    def compute(name: str, missing: list[str]) -> dict[str, Floats]:
        return {run: sums(items, [name])[name] for run, items in _items_with_curves(snapshot, dataset, missing)}

    def source(name: str) -> Callable[[list[str]], dict[str, Floats]]:
        # The stored sums of human curves cover imported people only: with other people they are computed again.
        computed = name in UNSTORED_SUMS or (snapshot.people and name in CURVE_SUMS)
        return partial(compute if computed else read, name)

    return {name: snapshot.cached(dataset, f"statistics.{name}", runs, source(name)) for name in sorted(names)}


def _items_with_curves(snapshot: Snapshot, dataset: str, runs: list[str]) -> Iterator[tuple[str, Items]]:
    of_clues = clues(snapshot, dataset)
    for run, part in zip(runs, run_items(snapshot, dataset, runs), strict=True):
        row = np.repeat(np.arange(len(part.positions)), np.diff(part.first))
        at = of_clues.first[part.positions[row]] + part.clue
        sequences = None if part.sample is None else sequence_starts(row, part.sample)
        yield run, Items(part.confidence, part.correct, part.first, of_clues.curves_at(at), sequences, of_clues.words[at])


def sequence_starts(question: Ints, sample: Ints) -> Ints:
    """Return where each sample of each question begins in items sorted by both, and last the number of items."""
    new = (np.diff(question, prepend=-1) != 0) | (np.diff(sample, prepend=-1) != 0)
    return np.append(np.flatnonzero(new), len(question))


def run_bins(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[Bins]:
    """Return the bins of confidence in each run's statistics, with rows in the order of ``row_positions``."""
    return _statistics(snapshot, dataset, runs, "bins", [BINS_USED, *BIN_COLUMNS], Bins.from_columns)


def response_values(
    snapshot: Snapshot,
    dataset: str,
    runs: Sequence[str],
    name: str,
    columns: Sequence[str],
    convert: Callable[[ResponseOrder, pl.DataFrame], V],
    states: tuple[State, ...] = CONFIDENT.states,
    grades: Mapping[str, str] | None = None,
) -> list[V]:
    """Convert SQL columns of each run's responses in some states, from and to the cache under a name; see ``Snapshot.cached``."""

    def read(missing: list[str]) -> dict[str, V]:
        parts = responses_in_order(snapshot, dataset, missing, columns, states)
        return {run: convert(order, table) for run, order, table in parts}

    return snapshot.cached(dataset, cache_name(name, states), runs, read, grades)


def run_items(snapshot: Snapshot, dataset: str, runs: Sequence[str], counted: CountedAnswers = CONFIDENT) -> list[RunItems]:
    """Return the items of each run, by question and clue; by default, their rows are those of the run's statistics.

    Items without a confidence have confidence 0.
    """
    correct = f"(not {among_states(('abstained', 'failed'))})::double as correct" if counted.attempts else "correct"

    def read(missing: list[str]) -> dict[str, RunItems]:
        sampled = {run for (run,) in snapshot.rows("select run from runs where samples > 1")}
        samples = ["sample"] if sampled.intersection(missing) else []
        columns = ["clue", "coalesce(confidence, 0) as confidence", correct, *samples]
        items = {}
        for run, order, table in responses_in_order(snapshot, dataset, missing, columns, counted.states):
            clue = table["clue"].to_numpy()[order.rows]
            confidence, right = (float_array(table[name])[order.rows] for name in ("confidence", "correct"))
            ascending = np.argsort(confidence, kind="stable").astype(np.int32)
            sample = sample_numbers(table["sample"])[order.rows] if run in sampled else None
            items[run] = RunItems(order.positions, order.first, clue, confidence, right, ascending, sample)
        return items

    name = cache_name("items", counted.states)
    return snapshot.cached(dataset, f"attempts at {name}" if counted.attempts else name, runs, read)


def cache_name(what: str, states: tuple[State, ...]) -> str:
    """Return the name under which a column of the answers in some states is cached."""
    return what if states == CONFIDENT.states else f"{what} {' '.join(states)}"


def run_logprobs(snapshot: Snapshot, dataset: str, runs: Sequence[str], counted: CountedAnswers = CONFIDENT) -> list[Floats]:
    """Return the sum of the token log-probabilities of each item's guess, NaN where unknown, in the order of ``run_items``."""
    sql = ["list_sum(token_logprobs) as logprob"]

    def convert(order: ResponseOrder, table: pl.DataFrame) -> Floats:
        return float_array(table["logprob"])[order.rows]

    return response_values(snapshot, dataset, runs, "logprobs", sql, convert, counted.states)


def clues(snapshot: Snapshot, dataset: str) -> Clues:
    """Return the clues of a dataset, with their lengths and the human curves at them."""

    def read(_: list[str]) -> dict[str, Clues]:
        # Rows are numbered in the order of the table, in which masks of clues are read.
        table = snapshot.frame(
            f"""select q.position, c.row, c.word_end, {", ".join(f"h.{name}" for name in CURVES)}
            from (select *, row_number() over () - 1 as row from clues where dataset = $dataset) c
            join questions q using (dataset, question_id) left join curves h using (dataset, question_id, clue)
            order by q.position, c.clue""",
            {"dataset": dataset},
        )
        positions = table["position"].to_numpy()
        first = np.searchsorted(positions, np.arange(positions.max(initial=-1) + 1))
        curves = {name: float_array(table[name]) for name in CURVES}
        unheard = all(np.isnan(curve).all() for curve in curves.values())
        ends = float_array(table["word_end"])
        words = np.diff(ends, prepend=0.0)
        words[first] = ends[first]
        return {"": Clues(first, table["row"].cast(pl.Int32).to_numpy(), words, None if unheard else curves)}

    return snapshot.cached(dataset, "clues", [""], read)[0]


def sample_numbers(samples: pl.Series) -> Ints:
    """Number sample names from 0, in order of name; null counts as "". Shape (items,)."""
    return np.unique(samples.fill_null("").to_numpy(), return_inverse=True)[1].astype(np.int64)


def float_array(column: pl.Series) -> Floats:
    """Convert a column of n rows to floats, shape (n,), NaN for null."""
    if column.dtype == pl.Float64 and not column.null_count():
        return column.to_numpy()
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def joined(parts: Sequence[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    """Concatenate one-dimensional arrays; the result is empty if there are none."""
    return np.concatenate([np.empty(0, kind), *parts], dtype=kind)


def rows_of_questions(positions: Sequence[NDArray[np.int32]], questions: Ints) -> tuple[list[Ints], list[Ints]]:
    """Return the rows of each run about chosen questions, and the index of each row's question, from ascending positions."""
    place_of = np.full(max([-1, *(part.max(initial=-1) for part in positions), questions.max(initial=-1)]) + 1, -1)
    place_of[questions] = np.arange(len(questions))
    places_of_runs = [place_of[part] for part in positions]
    rows = [np.flatnonzero(places >= 0) for places in places_of_runs]
    return rows, [places[index] for places, index in zip(places_of_runs, rows, strict=True)]


def batches_of_runs(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> Iterator[list[int]]:
    """Yield batches of run indices whose items are read together, so that memory need not hold the items of all runs at once."""
    counts = [values.sum() for values in statistic_columns(snapshot, dataset, runs, ["items"])["items"]]
    batch = (np.cumsum(counts) // READ_AT_ONCE).astype(int)
    for _, group in groupby(range(len(runs)), key=lambda index: batch[index]):
        yield list(group)


class ResponseOrder(NamedTuple):
    """How to sort the responses of a run by question, and those of a question by clue.

    ``rows`` are those of the sorted responses in the stored file. ``positions`` are those of the questions, ascending, ``first``
    the index of each question's first response and, last, the number of responses.
    """

    positions: NDArray[np.int32]
    first: Ints
    rows: Ints


def responses_in_order(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], columns: Sequence[str], states: tuple[State, ...] = CONFIDENT.states
) -> Iterator[tuple[str, ResponseOrder, pl.DataFrame]]:
    """Yield SQL columns of each run's responses as stored, by question id and clue, and how to sort them."""
    # If the statistics count every response, they say how many each question has. Reading the question ids takes longer.
    sizes_of_runs = statistic_columns(snapshot, dataset, runs, ["items"])["items"]
    tables = snapshot.read_runs("responses", runs, columns)
    # The other runs have responses in other states, or answered questions that no longer exist.
    counted = {run: len(tables[run]) == sizes.sum() for run, sizes in zip(runs, sizes_of_runs, strict=True)}
    by_id = _responses_by_id(snapshot, dataset, [run for run in runs if not counted[run]], columns, states)
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
    snapshot: Snapshot, dataset: str, runs: Sequence[str], columns: Sequence[str], states: tuple[State, ...]
) -> Iterator[tuple[str, ResponseOrder, pl.DataFrame]]:
    """Yield the same from the question ids that are stored with the responses."""
    if not runs:
        return
    questions = snapshot.frame("select question_id, position from questions where dataset = $d", {"d": dataset})
    known = np.empty(0, np.int64)  # position of each question that the run answered; often the same as for the previous run
    before = pl.DataFrame({"question_id": []}, schema={"question_id": pl.String})
    for run, table in snapshot.read_runs("responses", runs, ["question_id", f"{among_states(states)} as kept", *columns]).items():
        check_time_limit()
        kept = table if table["kept"].all() else table.filter(table["kept"])
        spans = kept["question_id"].rle().struct.unnest()
        sizes = spans["len"].to_numpy().astype(np.int64)
        names = spans.select(question_id="value")
        if not names.equals(before):
            places = names.join(questions, on="question_id", how="left", maintain_order="left")
            known, before = places["position"].fill_null(-1).to_numpy(), names
        order = np.argsort(known, kind="stable")
        order = order[known[order] >= 0]  # a withdrawn run can have answered questions that no longer exist
        yield run, _response_order(known[order].astype(np.int32), sizes, order), kept


def _response_order(positions: NDArray[np.int32], sizes: Ints, order: Ints) -> ResponseOrder:
    """Return how to sort responses, from their numbers in the order of the file and each question's index in it."""
    counts = sizes[order]
    first, starts = np.append(0, np.cumsum(counts)), np.cumsum(sizes) - sizes
    rows = np.repeat(starts[order] - first[:-1], counts) + np.arange(first[-1])
    return ResponseOrder(positions, first, rows)
