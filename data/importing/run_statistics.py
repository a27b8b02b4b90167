"""The statistics of whole runs: summed up in arrays, piece by piece, and stored."""

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

from data.frames import ArrowStream, frame, literal
from data.statistics import BIN_COLUMNS, BINS_USED
from data.sums import CURVES, Bins, curve_sums, item_sums

PIECE = 400_000  # items in memory at a time, about
IN_ORDER = 100_000  # the same, of items that are read in order
WRITTEN = 122_880  # rows written at once: a group of DuckDB's storage
HANDED = 20_480  # rows handed over to a thread
TOGETHER = 200  # runs read together, at most


def derive(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Compute the statistics of every run of a dataset anew and store them."""
    named = {"d": dataset}
    connection.execute("delete from statistics where dataset = $d", named)
    sizes = connection.execute("select run, count(*) from responses where dataset = $d group by 1 order by 1", named).fetchall()
    heard = connection.execute("select 1 from curves where dataset = $d limit 1", named).fetchone() is not None

    def items() -> Iterator[_Items]:
        for piece in _pieces(connection, dataset, sizes):
            rows = frame(connection, piece.items(dataset, heard))
            if not rows.is_empty():
                yield _of_runs(rows, piece.rows_of_runs(len(rows)), heard)

    _derive(connection, items(), f"select {literal(dataset)} as dataset, * from found")


class Arrived(NamedTuple):
    """New responses as they wait to be stored, with runs and questions by number: SQL of relations.

    Attributes:
        responses: ``row`` (0, 1, ... in the order of runs, questions and clues), ``answerer``, ``question``, ``clue``,
            ``confidence`` and ``correct``.
        runs: ``n``, ``run`` and ``dataset`` of those that are to be stored.
        questions: ``n`` (0, 1, ...), ``dataset``, ``question_id`` and ``clues``.
    """

    responses: str
    runs: str
    questions: str


def derive_arrived(connection: duckdb.DuckDBPyConnection, dataset: str, arrived: Arrived) -> None:
    """Compute and store the statistics of new runs of a dataset: as ``derive`` does, without looking for what is in order."""
    spans = connection.execute(
        f"""select min(s.row), max(s.row) + 1 from {arrived.responses} s join {arrived.runs} r on r.n = s.answerer
        where r.dataset = $d group by s.answerer order by 1""",
        {"d": dataset},
    ).fetchall()
    curves = _numbered_curves(connection, dataset, arrived)

    def items() -> Iterator[_Items]:
        for first, end in _joined(spans):
            rest = None
            for start in range(first, end, IN_ORDER):
                rows = connection.execute(
                    f"""select answerer, question, confidence, correct{", clue" if curves else ""} from {arrived.responses}
                    where row between {start} and {min(start + IN_ORDER, end) - 1}"""
                ).fetchnumpy()
                if rest:
                    rows = {name: np.concatenate((rest[name], rows[name])) for name in rows}
                starts = _changes(rows["answerer"], rows["question"])
                if start + IN_ORDER < end:  # the last question may go on
                    rest = {name: values[starts[-1] :] for name, values in rows.items()}
                    rows = {name: values[: starts[-1]] for name, values in rows.items()}
                    starts = starts[:-1]
                if len(starts):
                    keys = pl.DataFrame({name: rows[name][starts] for name in ("answerer", "question")})
                    heard = curves.of(rows["question"], rows["clue"]) if curves else None
                    yield _Items(rows["confidence"], rows["correct"], starts, keys, heard)

    _derive(
        connection,
        items(),
        f"""select r.run, r.dataset, q.question_id, f.* exclude (answerer, question) from found f
        join {arrived.runs} r on r.n = f.answerer join {arrived.questions} q on q.n = f.question""",
    )


class _Items(NamedTuple):
    """Whole questions, item by item in order.

    Attributes:
        confidence, correct: of each item, shape (items,).
        starts: index of each question's first item, shape (questions,).
        keys: what the row of each question is called.
        curves: each of ``CURVES``, shape (items,), NaN where there is none; None where nobody heard any question.
    """

    confidence: NDArray[np.float64]
    correct: NDArray[np.float64]
    starts: NDArray[np.int64]
    keys: pl.DataFrame
    curves: dict[str, NDArray[np.float64]] | None


def _derive(connection: duckdb.DuckDBPyConnection, pieces: Iterator[_Items], rows: str) -> None:
    """Sum up pieces and store them; ``rows`` is SQL that makes rows of ``statistics`` of ``found``."""
    computed: deque[Future[pl.DataFrame]] = deque()
    held: list[pl.DataFrame] = []
    with ThreadPoolExecutor(1) as beside:  # one piece is summed while the next is read and those before are written
        for items in pieces:
            computed.append(beside.submit(_summed, items))
            if len(computed) > 1:
                held.append(computed.popleft().result())
                held = _store(connection, rows, held, sum(map(len, held)) // WRITTEN * WRITTEN)
        held += [piece.result() for piece in computed]
        _store(connection, rows, held, sum(map(len, held)))


def _changes(*columns: NDArray[np.int32]) -> NDArray[np.int64]:
    """Indices of the rows that differ from the one before in any column, and of the first."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(new).astype(np.int64)


def _joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans in order, those that touch as one."""
    for index, (first, _) in enumerate(spans):
        if not index or spans[index - 1][1] != first:
            last = index
            while last + 1 < len(spans) and spans[last + 1][0] == spans[last][1]:
                last += 1
            yield first, spans[last][1]


class _Curves(NamedTuple):
    """Human curves by number of question and clue.

    Attributes:
        first: place of the first clue of each question among all clues, shape (questions,).
        values: of ``CURVES`` and each clue, NaN where there is none; shape (curves, clues).
    """

    first: NDArray[np.int64]
    values: NDArray[np.float64]

    def of(self, question: NDArray[np.int32], clue: NDArray[np.int32]) -> dict[str, NDArray[np.float64]]:
        """The curves at some clues."""
        return dict(zip(CURVES, self.values[:, self.first[question] + clue], strict=True))


def _numbered_curves(connection: duckdb.DuckDBPyConnection, dataset: str, arrived: Arrived) -> _Curves | None:
    """The curves of a dataset; None where it has none."""
    known = frame(
        connection,
        f"""select q.n, h.clue, {", ".join(f"h.{name}" for name in CURVES)} from curves h
        join {arrived.questions} q using (dataset, question_id) where h.dataset = {literal(dataset)} and h.clue < q.clues""",
    )
    if known.is_empty():
        return None
    clues = frame(connection, f"select clues from {arrived.questions} order by n")["clues"].to_numpy().astype(np.int64)
    first = np.cumsum(clues) - clues
    values = np.full((len(CURVES), int(clues.sum())), np.nan)
    values[:, first[known["n"].to_numpy()] + known["clue"].to_numpy()] = (
        known.select(pl.col(CURVES).fill_null(np.nan)).to_numpy().T
    )
    return _Curves(first, values)


class _Piece(NamedTuple):
    """Whole questions of some runs, or of a part of one.

    Attributes:
        runs: with the number of their responses, in order.
        part: SQL condition on the questions of a single run; empty for all.
    """

    runs: Sequence[tuple[str, int]]
    part: str = ""

    def items(self, dataset: str, heard: bool) -> str:
        """SQL for the items in the order of runs, questions and clues. Which run they are of is known by their number."""
        curves = "".join(f", h.{name}" for name in CURVES) if heard else ""
        join = "left join curves h using (dataset, question_id, clue)" if heard else ""
        chosen = " and ".join(filter(None, (f"run in ({', '.join(literal(run) for run, _ in self.runs)})", self.part)))
        return f"""select r.question_id, r.confidence, r.correct{curves}
            from (select * from responses where dataset = {literal(dataset)} and {chosen}) r {join}
            order by {"r.run, " if len(self.runs) > 1 else ""}r.question_id, r.clue"""

    def rows_of_runs(self, rows: int) -> list[tuple[str, int]]:
        """The runs, with the number of their responses among the items."""
        return [(self.runs[0][0], rows)] if self.part else list(self.runs)


def _pieces(connection: duckdb.DuckDBPyConnection, dataset: str, sizes: Sequence[tuple[str, int]]) -> Iterator[_Piece]:
    """Divide the responses of runs."""
    together: list[tuple[str, int]] = []
    for run, size in sizes:
        if together and (sum(held for _, held in together) + size > PIECE or len(together) == TOGETHER):
            yield _Piece(together)
            together = []
        if size > PIECE:
            yield from (_Piece([(run, size)], part) for part in _cut(connection, dataset, run))
        else:
            together.append((run, size))
    if together:
        yield _Piece(together)


def _cut(connection: duckdb.DuckDBPyConnection, dataset: str, run: str) -> Iterator[str]:
    """Conditions that divide a run between some of its questions: any would do, those a piece apart give even parts."""
    its = f"dataset = {literal(dataset)} and run = {literal(run)}"
    sample = f"select distinct question_id from responses where {its} and rowid % {PIECE} = 0 order by 1"
    cuts = [literal(question) for (question,) in connection.execute(sample).fetchall()]
    if not cuts:
        yield "true"
        return
    yield f"question_id < {cuts[0]}"
    yield from (f"question_id >= {low} and question_id < {high}" for low, high in pairwise(cuts))
    yield f"question_id >= {cuts[-1]}"


def _of_runs(rows: pl.DataFrame, runs: Sequence[tuple[str, int]], heard: bool) -> _Items:
    """Items in the order of runs, of which the number of each is known, questions and clues."""
    question = rows["question_id"]
    new = (question != question.shift()).fill_null(True).to_numpy(writable=True)
    firsts = np.append(0, np.cumsum([size for _, size in runs]))
    new[firsts[:-1]] = True
    starts = np.flatnonzero(new).astype(np.int64)
    run = pl.Series([run for run, _ in runs]).gather(np.searchsorted(firsts, starts, side="right") - 1)
    return _Items(
        rows["confidence"].to_numpy(),
        rows["correct"].to_numpy(),
        starts,
        pl.DataFrame({"run": run, "question_id": question.gather(starts)}),
        {name: rows[name].fill_null(np.nan).to_numpy() for name in CURVES} if heard else None,
    )


def _summed(items: _Items) -> pl.DataFrame:
    """The statistics of items, a row for each question."""
    found, bins = item_sums(items.confidence, items.correct, items.starts)
    if items.curves:
        found |= curve_sums(items.confidence, items.correct, items.starts, items.curves)
    columns = {name: pl.Series(values).fill_nan(None) for name, values in found.items()}
    return items.keys.with_columns(**columns, **_lists(bins))


def _lists(bins: Bins) -> dict[str, pl.Series]:
    """``BINS_USED`` and ``BIN_COLUMNS`` of each question."""
    held = pl.DataFrame({"question": bins.question} | bins.sums).set_sorted("question")
    lists = held.group_by("question", maintain_order=True).agg(BIN_COLUMNS)
    return {BINS_USED: pl.Series(bins.used)} | {name: lists[name] for name in BIN_COLUMNS}


def _store(connection: duckdb.DuckDBPyConnection, rows: str, held: list[pl.DataFrame], count: int) -> list[pl.DataFrame]:
    """Store the first ``count`` rows of what is held; the others."""
    if not count:
        return held
    whole = pl.concat(held, rechunk=True)
    # Threads read pieces of what comes from outside, one each.
    found = ArrowStream(pl.concat([whole[at : min(at + HANDED, count)] for at in range(0, count, HANDED)], rechunk=False))
    connection.execute(f"insert into statistics by name {rows}")
    del found
    return [whole[count:]]
