"""A dataset's statistics and items as columns in memory: read once for each of its revisions, filtered as often as asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.statistics import BIN_COLUMNS, BINS_USED
from data.store import Snapshot
from data.sums import BINS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Sparse:
    """A column of shape (rows, BINS) of which most is 0: what is not 0, by row and, within one, by bin.

    Attributes:
        first: index of each row's first entry and, last, how many entries there are, shape (rows + 1,).
        bin: of each entry, shape (entries,).
        values: of each entry, shape (entries,).
    """

    first: Integers
    bin: NDArray[np.int8]
    values: Floats

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> Sparse:
        """Some rows."""
        first, entries = _ranges(self.first, np.arange(len(self))[rows])
        return Sparse(first, self.bin[entries], self.values[entries])


def added(column: Floats | Sparse, places: Integers, count: int) -> Floats:
    """Totals of a column of shape (rows, ...) over the rows of each of ``count`` places: shape (count, ...).

    Args:
        column: what is added up.
        places: of each row, shape (rows,).
        count: how many places there are.
    """
    if isinstance(column, Sparse):
        cells = np.repeat(places * BINS, np.diff(column.first)) + column.bin
        return np.bincount(cells, column.values, count * BINS).astype(float, copy=False).reshape(count, BINS)
    flat = column.reshape(len(column), math.prod(column.shape[1:]))  # no columns where a dataset has no classes
    each = np.zeros((count, flat.shape[1]))
    for index, values in enumerate(flat.T):
        each[:, index] = np.bincount(places, values, count)
    return each.reshape(count, *column.shape[1:])


def dense(column: Floats | Sparse) -> Floats:
    """A column with every 0 written out, shape (rows, ...)."""
    return added(column, np.arange(len(column)), len(column)) if isinstance(column, Sparse) else column


@dataclass(frozen=True)
class Bins:
    """The bins of confidence of some rows that hold items: ``first`` and ``bin`` as of ``Sparse``; each of ``BIN_COLUMNS``."""

    first: Integers
    bin: NDArray[np.int8]
    values: dict[str, Floats]

    @classmethod
    def of(cls, table: pl.DataFrame) -> Bins:
        """From the columns of the statistics."""
        used = (table[BINS_USED].to_numpy()[:, None] >> np.arange(BINS)) & 1 == 1
        first = np.append(0, np.cumsum(used.sum(axis=1)))
        values = {name: table[name].explode(empty_as_null=False).to_numpy() for name in BIN_COLUMNS}
        return cls(first, np.nonzero(used)[1].astype(np.int8), values)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.first.nbytes + self.bin.nbytes + sum(values.nbytes for values in self.values.values())

    def take(self, rows: Integers) -> Bins:
        """Those of some rows, by ascending indices."""
        if len(rows) == len(self.first) - 1:
            return self
        first, entries = _ranges(self.first, rows)
        return Bins(first, self.bin[entries], {name: values[entries] for name, values in self.values.items()})

    def columns(self) -> dict[str, Sparse]:
        """Each of ``BIN_COLUMNS``."""
        return {name: Sparse(self.first, self.bin, values) for name, values in self.values.items()}


@dataclass(frozen=True)
class Layout:
    """Which run and question each row of a dataset's statistics is about; rows lie by run, and within one by question.

    Attributes:
        runs, questions: position of each run, withdrawn ones as well, and of each question, ascending.
        starts: index of each run's first row and, last, how many rows there are, shape (runs + 1,).
        places: place of each row's question among them, shape (rows,).
        order: index in the table of each row, shape (rows,).
    """

    runs: Integers
    questions: Integers
    starts: Integers
    places: NDArray[np.int32]
    order: Integers

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@dataclass(frozen=True)
class Items:
    """Every item of a dataset, by row of its layout and, within one, by clue.

    Attributes:
        first: index of each row's first item and, last, how many there are, shape (rows + 1,).
        clue, confidence, correct: of each item, shape (items,).
    """

    first: Integers
    clue: NDArray[np.int32]
    confidence: Floats
    correct: Floats

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def of(self, rows: Integers) -> tuple[Integers, Integers]:
        """Indices of the items of some rows, ascending ones, shape (items,); and how many each row has, shape (rows,)."""
        starts, items = _ranges(self.first, rows)
        return items, np.diff(starts)


def layout(snapshot: Snapshot, dataset: str) -> Layout:
    """How the rows of a dataset's statistics lie in memory."""
    return snapshot.held(dataset, "layout", lambda: _layout(snapshot, dataset))


def column(snapshot: Snapshot, dataset: str, name: str) -> Floats:
    """A column of a dataset's statistics, one number per row of its layout, NaN for null."""
    return snapshot.held(dataset, f"statistics.{name}", lambda: numbers(_table(snapshot, dataset, name)[name]))


def bins(snapshot: Snapshot, dataset: str) -> Bins:
    """The bins of confidence of a dataset's statistics."""
    return snapshot.held(dataset, "bins", lambda: Bins.of(_table(snapshot, dataset, BINS_USED, *BIN_COLUMNS)))


def items(snapshot: Snapshot, dataset: str) -> Items:
    """The items of a dataset."""
    return snapshot.held(dataset, "items", lambda: _items(snapshot, dataset))


def numbers(column: pl.Series) -> Floats:
    """A column as floats, NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _layout(snapshot: Snapshot, dataset: str) -> Layout:
    parameters = {"dataset": dataset}
    positions = "select position from {} where dataset = $dataset order by position"
    runs, questions = (
        snapshot.frame(positions.format(table), parameters)["position"].to_numpy() for table in ("runs", "questions")
    )
    found = snapshot.frame(
        """select r.position as run, q.position as question from statistics s join runs r on r.run = s.run
        join questions q on q.dataset = s.dataset and q.question_id = s.question_id
        where s.dataset = $dataset order by s.rowid""",
        parameters,
    )
    run, places = (np.searchsorted(known, found[name].to_numpy()) for name, known in (("run", runs), ("question", questions)))
    order = np.lexsort((places, run))
    starts = np.searchsorted(run[order], np.arange(len(runs) + 1))
    return Layout(runs, questions, starts, places[order].astype(np.int32), order)


def _table(snapshot: Snapshot, dataset: str, *names: str) -> pl.DataFrame:
    """Columns of the statistics, in the order of the layout."""
    # DuckDB gives rows in the order of the table where nothing else is asked for.
    found = snapshot.frame(f"select {', '.join(names)} from statistics where dataset = $dataset", {"dataset": dataset})
    return found[layout(snapshot, dataset).order]


def logprobs(snapshot: Snapshot, dataset: str) -> Floats:
    """Log-probability of the guess of each of a dataset's items, shape (items,), NaN where it is unknown."""
    sql = "list_sum(p.token_logprobs) as logprob"
    return snapshot.held(dataset, "logprobs", lambda: numbers(_responses(snapshot, dataset, sql)["logprob"]))


def _items(snapshot: Snapshot, dataset: str) -> Items:
    found = _responses(snapshot, dataset, "p.clue, p.confidence, p.correct")
    first = np.append(0, np.cumsum(column(snapshot, dataset, "items"))).astype(np.int64)
    clue = found["clue"].cast(pl.Int32).to_numpy()
    return Items(first, clue, numbers(found["confidence"]), numbers(found["correct"]))


def _responses(snapshot: Snapshot, dataset: str, columns: str) -> pl.DataFrame:
    """Columns of the responses ``p``, by run, question and clue."""
    return snapshot.frame(
        f"""select {columns} from responses p
        join runs r on r.run = p.run join questions q on q.dataset = p.dataset and q.question_id = p.question_id
        where p.dataset = $dataset order by r.position, q.position, p.clue""",
        {"dataset": dataset},
    )


def _ranges(first: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Index of the first entry of each of some rows among their entries, and number of these; and the indices of the entries.

    Args:
        first: of all rows, shape (all rows + 1,).
        rows: indices, ascending.
    """
    counts = np.diff(first)[rows]
    starts = np.append(0, np.cumsum(counts))
    return starts, np.repeat(first[rows] - starts[:-1], counts) + np.arange(starts[-1])
