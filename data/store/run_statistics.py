"""Computes the statistics of whole runs from their answers with a confidence, under each grading, and stores them.

Also lists in the catalogue which attributes the responses of a run have, and which values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import ArrowStream, execute, frame
from clueline.data.human_curves import CURVES
from clueline.data.ragged_arrays import Floats, Ints
from clueline.data.store.answer_states import ANSWERED, SCORES
from clueline.data.store.run_files import TYPES, Objects, StoredObject, copy_rows, graded_kind, record_objects, stored_objects
from clueline.data.sufficient_statistics import COLUMNS, EDITION, ITEM_SUMS, Items, bin_sums, sums

BATCH = 400_000  # approximate number of items in memory at a time
MAX_VALUES = 100  # of an attribute that a run can be divided by
ESTIMATE_MARGIN = 4  # above this many times MAX_VALUES, by an estimate that takes little memory, values are not counted
MAX_RUNS = 200  # runs that are read together


class _Batch(NamedTuple):
    """Items of whole questions. ``run`` (a number) and ``position`` have shape (questions,)."""

    items: Items
    run: Ints
    position: Ints


class _Clues(NamedTuple):
    """The questions of a dataset, and the human curves at their clues."""

    positions: pl.DataFrame  # position of each question, by id
    first: Ints  # index of the first clue of the question at each position and, last, the number of clues; (questions + 1,)
    curves: Floats | None  # NaN if there is no value, shape (curves, clues); None if the dataset has no human curves


def derive(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    dataset: str,
    runs: Sequence[str] | None = None,
    gradings: Sequence[str] | None = None,
) -> None:
    """Compute and store the statistics of runs (default: all) under some gradings (default: all; the first one is blank).

    Runs without a grading are left alone.
    """
    if gradings is None:
        kinds = "select distinct kind from objects where dataset = $d and starts_with(kind, 'grades.') order by 1"
        further = execute(connection, kinds, {"d": dataset}).fetchall()
        gradings = ["", *(kind.removeprefix("grades.") for (kind,) in further)]
    clues = _read_clues(connection, dataset)
    responses = stored_objects(connection, "responses", runs=runs, dataset=dataset)
    for grading in gradings:
        kind = graded_kind("statistics", grading) if grading else "statistics"
        graded = stored_objects(connection, graded_kind("grades", grading), runs=runs, dataset=dataset) if grading else []
        grades = {part.run: part for part in graded}
        parts = [part for part in responses if part.run in grades or not grading]
        record_objects(connection, _stored(connection, objects, dataset, clues, parts, grades, kind))


def computed(
    connection: duckdb.DuckDBPyConnection, objects: Objects, parts: Sequence[StoredObject], grades: Mapping[str, StoredObject]
) -> dict[str, pl.DataFrame]:
    """Return the statistics of runs of one dataset, given by their responses, under their ``grades``, as ``derive`` stores."""
    clues = _read_clues(connection, parts[0].dataset)
    tables = {part.run: [*map(_statistics, _batches(connection, objects, [part], grades, clues))] for part in parts}
    return {run: pl.concat(batches).sort("position").drop("run") if batches else EMPTY for run, batches in tables.items()}


def _stored(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    dataset: str,
    clues: _Clues,
    parts: Sequence[StoredObject],
    grades: Mapping[str, StoredObject],
    kind: str,
) -> list[StoredObject]:
    written: list[StoredObject] = []
    computing: list[Future[list[StoredObject]]] = []
    # One group of runs is computed and written while the next one is read.
    with ThreadPoolExecutor(1) as thread, connection.cursor() as writing:
        for group in _groups(parts):
            batches = list(_batches(connection, objects, group, grades, clues))
            computing.append(thread.submit(_write, writing, objects, dataset, group, batches, kind))
            if len(computing) > 1:
                written += computing.pop(0).result()
        for future in computing:
            written += future.result()
    return written


def _read_clues(connection: duckdb.DuckDBPyConnection, dataset: str) -> _Clues:
    positions = frame(
        connection, "select question_id, position, clues from questions where dataset = $d order by position", {"d": dataset}
    )
    first = np.append(0, np.cumsum(positions["clues"].to_numpy().astype(np.int64)))
    # Positions have no gaps: they count the rows of the file that the questions came from.
    curves = frame(
        connection,
        f"""select q.position, h.clue, {", ".join(f"h.{name}" for name in CURVES)} from curves h
        join questions q using (dataset, question_id) where dataset = $d and h.clue < q.clues""",
        {"d": dataset},
    )
    if curves.is_empty():
        return _Clues(positions, first, None)
    values = np.full((len(CURVES), int(first[-1])), np.nan)
    at = first[curves["position"].to_numpy()] + curves["clue"].to_numpy()
    values[:, at] = curves.select(pl.col(CURVES).fill_null(np.nan)).to_numpy().T
    return _Clues(positions, first, values)


def _groups(parts: Sequence[StoredObject]) -> Iterator[list[StoredObject]]:
    group: list[StoredObject] = []
    for part in parts:
        if group and (sum(other.rows for other in group) + part.rows > BATCH or len(group) == MAX_RUNS):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _batches(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    group: Sequence[StoredObject],
    grades: Mapping[str, StoredObject],
    clues: _Clues,
) -> Iterator[_Batch]:
    """Yield the items of a group of runs, about ``BATCH`` at a time."""
    sampled = {run for (run,) in connection.execute("select run from runs where samples > 1").fetchall()}
    columns = "question_id, clue, confidence, correct" + (", sample" if sampled.intersection(part.run for part in group) else "")
    if len(group) > 1 or group[0].rows <= BATCH:
        rows = frame(connection, f"select run, {columns} from {objects.graded_responses(group, grades)} where {ANSWERED}")
        numbers = {part.run: number for number, part in enumerate(group)}
        run = rows["run"].rle().struct.unnest()
        number = np.repeat([numbers[name] for name in run["value"]], run["len"].to_numpy())
        yield _batch(rows, number.astype(np.int64), clues)
        return
    numbered = objects.graded_responses(group, grades, numbered=True)
    rest = pl.DataFrame()
    for start in range(0, group[0].rows, BATCH):
        rows = frame(
            connection,
            f"""select {columns} from {numbered} where {ANSWERED}
            and file_row_number between {start} and {start + BATCH - 1} order by file_row_number""",
        )
        rows = pl.concat([rest, rows]) if len(rest) else rows
        if start + BATCH < group[0].rows and len(rows):  # the last question may go on in the next batch
            last = rows["question_id"].rle().struct.field("len")[-1]
            rest, rows = rows[len(rows) - last :], rows[: len(rows) - last]
        if len(rows):
            yield _batch(rows, np.zeros(len(rows), np.int64), clues)


def _batch(rows: pl.DataFrame, run: Ints, clues: _Clues) -> _Batch:
    """Make a batch from the items of whole questions, in the order of runs, questions and clues.

    Items of questions and clues that the dataset no longer has are left out: the runs that answered them are withdrawn.
    """
    question = rows["question_id"].rle_id().to_numpy().astype(np.int64)
    starts = _changes(run, question)
    ids = rows.select("question_id")[starts]
    known = ids.join(clues.positions, on="question_id", how="left", maintain_order="left")
    sizes = np.diff(np.append(starts, len(rows)))
    position = np.repeat(known["position"].fill_null(-1).to_numpy().astype(np.int64), sizes)
    clue = rows["clue"].to_numpy()
    sample = rows["sample"].rle_id().to_numpy().astype(np.int64) if "sample" in rows.columns else None
    whole = (position >= 0) & (clue < np.repeat(known["clues"].fill_null(0).to_numpy(), sizes))
    confidence, correct = rows["confidence"].to_numpy(), rows["correct"].to_numpy()
    if not whole.all():
        run, position, clue, confidence, correct = (values[whole] for values in (run, position, clue, confidence, correct))
        sample = None if sample is None else sample[whole]
        starts = _changes(run, position)
    curves = None
    if clues.curves is not None:
        curves = dict(zip(CURVES, clues.curves[:, clues.first[position] + clue], strict=True))
    sequences = None if sample is None else np.append(_changes(run, position, sample), len(position))
    items = Items(confidence, correct, np.append(starts, len(position)), curves, sequences)
    return _Batch(items, run[starts], position[starts])


def _changes(*columns: NDArray[np.integer]) -> Ints:
    """Return the indices of the first row and of each row that differs from the previous one in any column."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(new).astype(np.int64)


def _write(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    dataset: str,
    group: Sequence[StoredObject],
    batches: list[_Batch],
    kind: str,
) -> list[StoredObject]:
    tables = [_statistics(batch) for batch in batches if len(batch.run)]
    by_run = pl.concat(tables).sort("position").partition_by("run", include_key=False, as_dict=True) if tables else {}
    written = []
    for number, part in enumerate(group):
        rows = by_run.get((number,), EMPTY)
        written.append(objects.add(kind, dataset, part.run, partial(_write_rows, connection, rows), EDITION))
    return written


def _write_rows(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame, path: Path) -> int:
    connection.register("computed", ArrowStream(rows))
    return copy_rows(connection, "statistics", "from computed", path)


def _statistics(batch: _Batch) -> pl.DataFrame:
    items = batch.items
    columns = sums(items, COLUMNS if items.curves else ITEM_SUMS)
    return pl.DataFrame({
        "run": batch.run,
        "position": batch.position.astype(np.int32),
        **{name: pl.Series(values).fill_nan(None) for name, values in columns.items()},
        **bin_sums(items).to_columns(),
    }).with_columns(**{name: pl.lit(None, pl.Float64) for name in COLUMNS if name not in columns})  # fmt: skip


EMPTY = pl.DataFrame(schema=dict.fromkeys(TYPES["statistics"], pl.Null))


def list_attributes(connection: duckdb.DuckDBPyConnection, objects: Objects, run: str) -> None:
    """List the attributes of a run in the catalogue, with their values unless they are scores or have over ``MAX_VALUES``."""
    relation = objects.relation("responses", stored_objects(connection, "responses", runs=[run]))
    entries = f"""(select dataset, run, entry.key as attribute, entry.value as value from (
        select dataset, run, unnest(map_entries(attributes)) as entry from {relation}))"""
    counts = f"select attribute, approx_count_distinct(value) from {entries} group by 1"
    scored = connection.execute(f"select 1 from {relation} where state = 'scored' limit 1").fetchone()
    few = [
        name
        for name, values in connection.execute(counts).fetchall()
        if values <= ESTIMATE_MARGIN * MAX_VALUES and not (scored and name in SCORES)
    ]
    execute(
        connection,
        f"""insert into response_attributes by name
        select dataset, run, attribute, value, count(*) as responses from {entries}
        where list_contains($few::varchar[], attribute) group by 1, 2, 3, 4
        qualify count(*) over (partition by attribute) <= {MAX_VALUES} order by attribute, value""",
        {"few": few},
    )
    execute(
        connection,
        f"""insert into response_attributes by name
        select dataset, run, attribute, null as value, count(*) as responses from {entries}
        where attribute not in (select attribute from response_attributes where run = $run) group by all order by attribute""",
        {"run": run},
    )
