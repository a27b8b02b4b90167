"""The ids of runs: a sha256 of their content in the order of questions and clues, independent of the order of the file.

Each column is hashed by itself, as one stream of bytes over all rows of the run: numbers little-endian; texts and lists as their
lengths (-1 for null) and their joined content. The way guesses were graded does not count, only the correctness that the file or
the analyst stated. A failed call is hashed as the guess ERROR, no matter how the file marks it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.duckdb_and_polars import frame, literal
from data.importing.states_of_rows import FAILED_GUESS

GROUP = 122_880  # rows of a row group in DuckDB's storage
ROWS, BYTES = 4 * GROUP, 64 * 2**20  # greatest size of a batch, unless a single row is longer
IDS = 1_000_000  # question ids in memory at a time
OPTIONAL = {"guess": "strlen(guess)", "stated": "0", "token_logprobs": "8 * len(token_logprobs)", "options": "8 * len(options)",
            "sample": "strlen(sample)", "buzz": "0", "state": "strlen(state)",
            "option_names": "16 * len(option_names)", "attributes": "strlen(attributes::varchar)"}  # fmt: skip
AS_TEXT = {"attributes": "to_json(attributes)::varchar as attributes"}  # columns that are hashed as text, and the SQL for it


@dataclass
class RunHash:
    """The hash of one run, fed with its rows in order. ``close`` sets ``sha256``. ``questions`` counts different ones."""

    items: int = 0
    questions: int = 0
    sha256: str = ""
    _last: int = -1  # number of the question of the last row
    _columns: dict[tuple[str, int], Any] = field(default_factory=dict)
    _filled: set[str] = field(default_factory=set)  # columns with values; one without is as if the file did not have it

    def feed(self, rows: pl.DataFrame, ids: Ids) -> None:
        question = rows["question_number"].to_numpy()
        first = np.diff(question, prepend=self._last) != 0
        self._last = int(question[-1])
        self.items += len(rows)
        self.questions += int(first.sum())
        self._add("first", [first])
        self._add("question_id", _byte_streams(ids.look_up(question[first])))
        for name in rows.columns:
            if name not in ("run_number", "question_number"):
                self._add(name, _byte_streams(rows[name]))
                if name not in OPTIONAL or rows[name].null_count() < len(rows):
                    self._filled.add(name)

    def _add(self, name: str, parts: Iterable[Any]) -> None:
        for index, part in enumerate(parts):
            self._columns.setdefault((name, index), hashlib.sha256()).update(part)

    def close(self, head: list[str]) -> None:
        """Set ``sha256``, from the rows and the head: dataset, model and elicitation."""
        digests = [
            [name, index, column.hexdigest()]
            for (name, index), column in sorted(self._columns.items())
            if name in self._filled or name in ("first", "question_id")
        ]
        self.sha256 = hashlib.sha256(json.dumps([head, digests]).encode()).hexdigest()
        self._columns.clear()


def run_hashes(connection: duckdb.DuckDBPyConnection) -> dict[int, RunHash]:
    """Hash each run of ``responses_graded`` in one pass, with one batch of rows in memory. Returns the hashes by run number."""
    hashes: dict[int, RunHash] = {}
    heads = connection.execute("select n, dataset, model, elicitation from numbered_runs").fetchall()
    ids = Ids(connection)
    filled = ", ".join(f"count({name})" for name in OPTIONAL)
    *counts, failed = connection.execute(f"select {filled}, count(*) filter (failed) from responses_graded").fetchall()[0]
    present = [name for name, count in zip(OPTIONAL, counts, strict=True) if count and name != "guess"]
    columns = ["confidence", *(AS_TEXT.get(name, name) for name in present)]
    if failed:
        columns.append(f"if(failed, {literal(FAILED_GUESS)}, guess) as guess")
    elif counts[[*OPTIONAL].index("guess")]:
        columns.append("guess")
    for first, last in _batches(connection):
        rows = frame(
            connection,
            f"""select run_number, question_number, clue, {", ".join(columns)} from responses_graded
            where row between {first} and {last}""",
        )
        numbers = rows["run_number"].to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]
        for start, end in pairwise(cuts):
            hashes.setdefault(int(numbers[start]), RunHash()).feed(rows[start:end], ids)
    for n, *head in heads:
        hashes[n].close(head)
    return hashes


class Ids:
    """Question ids by number. With more than ``IDS`` questions, only those near the last ones looked up are in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._count = connection.execute("select count(*) from numbered_questions").fetchall()[0][0]
        self._first, self._held = 0, pl.Series([], dtype=pl.String)

    def look_up(self, numbers: NDArray[np.int32]) -> pl.Series:
        """Return the ids of some question numbers, which must be ascending."""
        if not len(numbers):
            return pl.Series([], dtype=pl.String)
        low, high = int(numbers[0]), int(numbers[-1])
        if low < self._first or high >= self._first + len(self._held):
            self._first = 0 if self._count <= IDS else low
            last = self._count if self._count <= IDS else max(high, low + IDS // 2)
            self._held = frame(
                self._connection,
                f"select question_id from numbered_questions where n between {self._first} and {last} order by n",
            )["question_id"]
        return self._held.gather(numbers - self._first)


def _batches(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int]]:
    size = " + ".join(f"coalesce({sql}, 0)" for sql in OPTIONAL.values())
    groups = connection.execute(
        f"select row // {GROUP}, count(*), sum({size})::bigint from responses_graded group by 1 order by 1"
    ).fetchall()
    start = end = filled = 0
    for group, rows, size in groups:
        if end > start and (end - start + rows > ROWS or filled + size > BYTES):
            yield start, end - 1
            start, filled = end, 0
        if size > BYTES:
            step = max(1, rows * BYTES // size)
            for at in range(group * GROUP, group * GROUP + rows, step):
                yield at, min(at + step, group * GROUP + rows) - 1
            start = end = group * GROUP + rows
        else:
            end, filled = group * GROUP + rows, filled + size
    if end > start:
        yield start, end - 1


def _byte_streams(column: pl.Series) -> list[Any]:
    if column.dtype == pl.String:
        lengths = column.str.len_bytes().cast(pl.Int32).fill_null(-1)
        return [_little_endian(lengths), (column.str.join("").item() or "").encode()]
    if isinstance(column.dtype, pl.List):
        lengths = column.list.len().cast(pl.Int32).fill_null(-1)
        return [_little_endian(lengths), *_byte_streams(column.filter(lengths > 0).explode())]
    return [_little_endian(column.fill_null(float("nan")) if column.dtype == pl.Float64 else column)]


def _little_endian(numbers: pl.Series) -> NDArray[Any]:
    array = np.ascontiguousarray(numbers.to_numpy())
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
