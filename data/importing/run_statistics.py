"""Computes the statistics of whole runs, a batch at a time, and stores them. Failed calls are in none of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.human_curves import CURVES
from data.polars_frames import ArrowStream, frame, literal
from data.ragged_arrays import Floats, Ints
from data.statistics import COLUMNS, ITEM_SUMS, Items, bin_sums, sums

BATCH = 400_000  # items in memory at a time, about
ORDERED_BATCH = 100_000  # the same, where items are read in order
WRITTEN = 122_880  # rows written at once: a row group of DuckDB's storage
CHUNK = 20_480  # rows that one thread of DuckDB reads
MOST_RUNS = 200  # read together


class NumberedResponses(NamedTuple):
    """New responses, with runs and questions by number, before they are stored: names of relations.

    Attributes:
        responses: ``row`` (0, 1, ... in the order of runs, questions and clues), ``run_number`` (the run), ``question_number``,
            ``clue``, ``confidence``, ``correct`` and ``failed``.
        runs: ``n``, ``run`` and ``dataset`` of the runs to store.
        questions: ``n`` (0, 1, ...), ``dataset``, ``question_id`` and ``clues``.
    """

    responses: str
    runs: str
    questions: str


class _Batch(NamedTuple):
    """Items of whole questions, and for each question the keys of its row."""

    items: Items
    keys: pl.DataFrame


def derive(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Compute the statistics of every run of a dataset again and store them."""
    parameters = {"d": dataset}
    connection.execute("delete from statistics where dataset = $d", parameters)
    counts = connection.execute(
        "select run, count(*) from responses where dataset = $d and not failed group by 1 order by 1", parameters
    ).fetchall()
    has_curves = connection.execute("select 1 from curves where dataset = $d limit 1", parameters).fetchone() is not None

    def batches() -> Iterator[_Batch]:
        for part in _parts(connection, dataset, counts):
            rows = frame(connection, part.sql(dataset, has_curves))
            if not rows.is_empty():
                yield _batch(rows, part.counts(len(rows)), has_curves)

    _compute_and_store(connection, batches(), f"select {literal(dataset)} as dataset, * from computed")


def derive_new(connection: duckdb.DuckDBPyConnection, dataset: str, new: NumberedResponses) -> None:
    """Compute and store the statistics of new runs of a dataset: as ``derive``, but without sorting what is in order."""
    spans = connection.execute(
        f"""select min(s.row), max(s.row) + 1 from {new.responses} s join {new.runs} r on r.n = s.run_number
        where r.dataset = $d group by s.run_number order by 1""",
        {"d": dataset},
    ).fetchall()
    curves = _numbered_curves(connection, dataset, new)

    def batches() -> Iterator[_Batch]:
        for first, end in _joined(spans):
            rest = None
            for start in range(first, end, ORDERED_BATCH):
                rows = connection.execute(
                    f"""select run_number, question_number, confidence, correct{", clue" if curves else ""} from {new.responses}
                    where row between {start} and {min(start + ORDERED_BATCH, end) - 1} and not failed"""
                ).fetchnumpy()
                if rest:
                    rows = {name: np.concatenate((rest[name], rows[name])) for name in rows}
                starts = _changes(rows["run_number"], rows["question_number"])
                if start + ORDERED_BATCH < end and len(rows["run_number"]):  # the last question may go on in the next batch
                    rest = {name: values[starts[-1] :] for name, values in rows.items()}
                    rows = {name: values[: starts[-1]] for name, values in rows.items()}
                    starts = starts[:-1]
                if len(starts):
                    keys = pl.DataFrame({name: rows[name][starts] for name in ("run_number", "question_number")})
                    at_clues = curves.at(rows["question_number"], rows["clue"]) if curves else None
                    ends = np.append(starts, len(rows["question_number"]))
                    yield _Batch(Items(rows["confidence"], rows["correct"], ends, at_clues), keys)

    _compute_and_store(
        connection,
        batches(),
        f"""select r.run, r.dataset, q.question_id, c.* exclude (run_number, question_number) from computed c
        join {new.runs} r on r.n = c.run_number join {new.questions} q on q.n = c.question_number""",
    )


def _compute_and_store(connection: duckdb.DuckDBPyConnection, batches: Iterator[_Batch], rows: str) -> None:
    """Compute the statistics of batches and store them; ``rows`` is SQL that turns ``computed`` into rows of the table."""
    computing: deque[Future[pl.DataFrame]] = deque()
    waiting: list[pl.DataFrame] = []
    with ThreadPoolExecutor(1) as thread:  # one batch is computed while the next is read and those before are written
        for batch in batches:
            computing.append(thread.submit(_statistics, batch))
            if len(computing) > 1:
                waiting.append(computing.popleft().result())
                waiting = _store(connection, rows, waiting, sum(map(len, waiting)) // WRITTEN * WRITTEN)
        waiting += [future.result() for future in computing]
        _store(connection, rows, waiting, sum(map(len, waiting)))


def _changes(*columns: NDArray[np.int32]) -> Ints:
    """Indices of the first row and of the rows that differ from the one before in any column."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(new).astype(np.int64)


def _joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans in order, those that touch joined into one."""
    for index, (first, _) in enumerate(spans):
        if not index or spans[index - 1][1] != first:
            last = index
            while last + 1 < len(spans) and spans[last + 1][0] == spans[last][1]:
                last += 1
            yield first, spans[last][1]


class _Curves(NamedTuple):
    """Human curves by number of question and clue.

    Attributes:
        first: index of each question's first clue among all clues, shape (questions,).
        values: for each of ``CURVES`` and each clue, NaN where there is none; shape (curves, clues).
    """

    first: Ints
    values: Floats

    def at(self, question: NDArray[np.int32], clue: NDArray[np.int32]) -> dict[str, Floats]:
        """The curves at some clues."""
        return dict(zip(CURVES, self.values[:, self.first[question] + clue], strict=True))


def _numbered_curves(connection: duckdb.DuckDBPyConnection, dataset: str, new: NumberedResponses) -> _Curves | None:
    """The curves of a dataset; None where it has none."""
    curves = frame(
        connection,
        f"""select q.n, h.clue, {", ".join(f"h.{name}" for name in CURVES)} from curves h
        join {new.questions} q using (dataset, question_id) where h.dataset = {literal(dataset)} and h.clue < q.clues""",
    )
    if curves.is_empty():
        return None
    clues = frame(connection, f"select clues from {new.questions} order by n")["clues"].to_numpy().astype(np.int64)
    first = np.cumsum(clues) - clues
    values = np.full((len(CURVES), int(clues.sum())), np.nan)
    at = first[curves["n"].to_numpy()] + curves["clue"].to_numpy()
    values[:, at] = curves.select(pl.col(CURVES).fill_null(np.nan)).to_numpy().T
    return _Curves(first, values)


class _Part(NamedTuple):
    """What one query reads: some runs, or some questions of one run.

    Attributes:
        runs: with the number of their responses, in order.
        condition: SQL condition on the questions of a single run; empty for all.
    """

    runs: Sequence[tuple[str, int]]
    condition: str = ""

    def sql(self, dataset: str, has_curves: bool) -> str:
        """SQL for the items in the order of runs, questions and clues. Their run follows from the counts."""
        curves = "".join(f", h.{name}" for name in CURVES) if has_curves else ""
        join = "left join curves h using (dataset, question_id, clue)" if has_curves else ""
        runs = f"run in ({', '.join(literal(run) for run, _ in self.runs)})"
        where = " and ".join(filter(None, (f"dataset = {literal(dataset)}", runs, "not failed", self.condition)))
        return f"""select r.question_id, r.confidence, r.correct{curves}
            from (select * from responses where {where}) r {join}
            order by {"r.run, " if len(self.runs) > 1 else ""}r.question_id, r.clue"""

    def counts(self, rows: int) -> list[tuple[str, int]]:
        """The runs, with the number of their responses among the ``rows`` that were read."""
        return [(self.runs[0][0], rows)] if self.condition else list(self.runs)


def _parts(connection: duckdb.DuckDBPyConnection, dataset: str, counts: Sequence[tuple[str, int]]) -> Iterator[_Part]:
    """Divide the responses of runs into parts of about a batch."""
    together: list[tuple[str, int]] = []
    for run, count in counts:
        if together and (sum(size for _, size in together) + count > BATCH or len(together) == MOST_RUNS):
            yield _Part(together)
            together = []
        if count > BATCH:
            yield from (_Part([(run, count)], condition) for condition in _cuts(connection, dataset, run))
        else:
            together.append((run, count))
    if together:
        yield _Part(together)


def _cuts(connection: duckdb.DuckDBPyConnection, dataset: str, run: str) -> Iterator[str]:
    """Conditions that divide a run between some of its questions. Those a batch apart in the table give even parts."""
    where = f"dataset = {literal(dataset)} and run = {literal(run)}"
    sql = f"select distinct question_id from responses where {where} and rowid % {BATCH} = 0 order by 1"
    cuts = [literal(question) for (question,) in connection.execute(sql).fetchall()]
    if not cuts:
        yield "true"
        return
    yield f"question_id < {cuts[0]}"
    yield from (f"question_id >= {low} and question_id < {high}" for low, high in pairwise(cuts))
    yield f"question_id >= {cuts[-1]}"


def _batch(rows: pl.DataFrame, counts: Sequence[tuple[str, int]], has_curves: bool) -> _Batch:
    """A batch from items in the order of runs, of which the number of each is known, questions and clues."""
    question = rows["question_id"]
    is_first = (question != question.shift()).fill_null(True).to_numpy(writable=True)
    first_of_run = np.append(0, np.cumsum([count for _, count in counts]))
    is_first[first_of_run[:-1]] = True
    starts = np.flatnonzero(is_first).astype(np.int64)
    run = pl.Series([run for run, _ in counts]).gather(np.searchsorted(first_of_run, starts, side="right") - 1)
    curves = {name: rows[name].fill_null(np.nan).to_numpy() for name in CURVES} if has_curves else None
    items = Items(rows["confidence"].to_numpy(), rows["correct"].to_numpy(), np.append(starts, len(rows)), curves)
    return _Batch(items, pl.DataFrame({"run": run, "question_id": question.gather(starts)}))


def _statistics(batch: _Batch) -> pl.DataFrame:
    """The statistics of a batch, a row for each question."""
    columns = sums(batch.items, COLUMNS if batch.items.curves else ITEM_SUMS)
    nullable = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
    return batch.keys.with_columns(**nullable, **bin_sums(batch.items).to_columns())


def _store(connection: duckdb.DuckDBPyConnection, rows: str, waiting: list[pl.DataFrame], count: int) -> list[pl.DataFrame]:
    """Store the first ``count`` rows of what is waiting, and return the others."""
    if not count:
        return waiting
    whole = pl.concat(waiting, rechunk=True)
    chunks = [whole[start : min(start + CHUNK, count)] for start in range(0, count, CHUNK)]
    computed = ArrowStream(pl.concat(chunks, rechunk=False))
    connection.execute(f"insert into statistics by name {rows}")
    del computed  # DuckDB finds it by its name
    return [whole[count:]]
