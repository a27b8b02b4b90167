"""Imports answers that are too large for one host: workers prepare the runs, and all of them are published together.

The answers are a Parquet data set. A worker takes the rows of one model and one elicitation, and processes them as an import
does: it writes their responses and statistics into the store as objects, and returns the rows of the catalogue, which are few.
The coordinator puts these into the store. ``dashboard/cli/importing.py`` finds and calls workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from clueline.data.duckdb_and_polars import execute_with, frame, literal
from clueline.data.importing.ingest import check_content, read_and_check
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions, open_staging
from clueline.data.importing.table_contract import trimmed_text
from clueline.data.importing.unpublished_catalogue import TABLES_OF_RUNS, UnpublishedCatalogue, make_unpublished_catalogue
from clueline.data.plurals import counted
from clueline.data.scratch_folders import scratch_folder
from clueline.data.store import Store, StoreError, StoreMoved, open_store
from clueline.data.store.audit import AuditEvent, new_event
from clueline.data.store.cache_validity_tokens import State, states
from clueline.data.store.run_files import StoredObject

MAX_REASONS = 3  # reasons named for each group
RUN_COLUMNS = ("model", "elicitation")


@dataclass(frozen=True)
class Group:
    """The rows of one model and one elicitation, None if the files do not say, and the files that have such rows."""

    model: str | None
    elicitation: str | None
    files: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.model or '?'} ({self.elicitation or '?'})"


@dataclass(frozen=True)
class PreparedRuns:
    """The result of a worker for one group: rows for the catalogue, and the objects that it wrote."""

    label: str
    before: State | None = None  # of the dataset that the runs were prepared for; None if there is nothing to publish
    runs: pl.DataFrame = field(default_factory=pl.DataFrame)  # rows of the table ``runs``; none if the store has the runs
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # rows of the other tables on runs, by name
    objects: tuple[StoredObject, ...] = ()
    lines: tuple[str, ...] = ()  # of the report, including its warnings
    refusal: str | None = None  # why the rows were refused, in which case nothing was written
    gradings: tuple[tuple[str, str], ...] = ()  # run and name of each grading that a stored run gets


def parquet_files(source: Path) -> list[str]:
    """Return a single Parquet file, or all those below a folder. Raises ``StoreError`` if there are none."""
    files = [source] if source.is_file() else sorted(source.rglob("*.parquet"))
    if not files:
        raise StoreError(f"{source} holds no Parquet files")
    return [str(file.absolute()) for file in files]


def groups_of_file(file: str) -> list[Group]:
    """Return the groups in one file. ``model`` and ``elicitation`` can be columns, or parts of the path such as ``model=gpt``."""
    with duckdb.connect(config={"threads": 1}) as connection:
        present = _columns(connection, file)
        parts = [trimmed_text(name) if name in present else "null" for name in RUN_COLUMNS]
        rows = connection.execute(f"select distinct {', '.join(parts)} from {_read([file])}").fetchall()
    return [Group(model, elicitation, (file,)) for model, elicitation in rows]


def merge_groups(groups: Sequence[Group]) -> list[Group]:
    """Merge the groups of several files into those of the data set, ordered by model and elicitation."""
    files: dict[tuple[str | None, str | None], list[str]] = {}
    for group in groups:
        files.setdefault((group.model, group.elicitation), []).extend(group.files)
    merged = [Group(model, elicitation, tuple(sorted(names))) for (model, elicitation), names in files.items()]
    return sorted(merged, key=lambda group: (group.model or "", group.elicitation or ""))


def prepare(url: str, group: Group, options: ImportOptions, *, threads: int = 1, memory_limit: str = "1GB") -> PreparedRuns:
    """Prepare the runs of a group, or say why their rows were refused: everything an import does except publishing.

    The store must hold the dataset, which ``options`` must name. Model and elicitation in the files override those that the
    analyst states. Beyond ``memory_limit``, DuckDB uses the disk. Raises
    ``StoreError``.
    """
    with closing(open_store(url, threads=threads, memory_limit=memory_limit)) as store, scratch_folder() as folder:
        path = folder / "rows.parquet"
        _extract(group, path, threads, memory_limit)
        stated: dict[str, Any] = {name: None for name in RUN_COLUMNS if getattr(group, name) is not None}
        options = replace(options, form="responses", **stated)
        names = [Path(group.files[0]).name if len(group.files) == 1 else f"{len(group.files)} files"]
        with open_staging(store) as staging:
            try:
                read_and_check(staging, [path], options, names, lambda label, done, total: None)
                check_content(staging, "runs", [path], names)
            except Refused as refused:
                return PreparedRuns(group.label, refusal=_reason(refused))
            lines = (*staging.report.lines, *(f"warning: {warning}" for warning in staging.report.warnings))
            if not staging.changes():
                return PreparedRuns(group.label, lines=lines)
            with store.adding_objects() as objects:
                unpublished = make_unpublished_catalogue(staging, objects)
                rows, tables, parts = _rows_of_catalogue(unpublished)
                unpublished.close()
            before, added = unpublished.before[str(options.dataset)], tuple(unpublished.gradings)
            return PreparedRuns(group.label, before, rows, tables, tuple(parts), lines, gradings=added)


def _reason(refused: Refused) -> str:
    """Say why the rows of a group were refused. Line numbers are left out, because they refer to the worker's own file."""
    reasons = []
    for problem in refused.problems:
        column = f"{problem.column}{f' {problem.value!r}' if problem.value else ''}: " if problem.column else ""
        reasons.append(f"{column}{problem.reason}")
    shown = list(dict.fromkeys(reasons))[:MAX_REASONS]
    return f"{'; '.join(shown)} ({counted(refused.total, 'problem')})"


def _extract(group: Group, path: Path, threads: int, memory_limit: str) -> None:
    """Write the rows of a group to one file. DuckDB skips row groups and files of other models by their statistics."""
    with duckdb.connect(
        config={"threads": threads, "memory_limit": memory_limit, "temp_directory": str(path.parent)}
    ) as connection:
        present = _columns(connection, *group.files)
        values = {"model": group.model, "elicitation": group.elicitation}
        conditions = [
            f"{trimmed_text(name)} is not distinct from {literal(value) if value is not None else 'null'}"
            for name, value in values.items()
            if name in present
        ]
        where = f" where {' and '.join(conditions)}" if conditions else ""
        connection.execute(f"copy (from {_read(group.files)}{where}) to {literal(path)} (format parquet)")


def _read(files: Sequence[str]) -> str:
    names = ", ".join(literal(file) for file in files)
    return f"read_parquet([{names}], union_by_name = true, hive_partitioning = true, hive_types_autocast = false)"


def _columns(connection: duckdb.DuckDBPyConnection, *files: str) -> set[str]:
    return {name for name, *_ in connection.execute(f"describe from {_read(files)}").fetchall()}


def _rows_of_catalogue(unpublished: UnpublishedCatalogue) -> tuple[pl.DataFrame, dict[str, pl.DataFrame], list[StoredObject]]:
    def rows_of(table: str) -> str:
        return f"from unpublished.{table} where {unpublished.new_rows(table)}"

    rows = frame(unpublished.connection, f"select * {rows_of('runs')} order by position")
    tables = {table: frame(unpublished.connection, f"select * {rows_of(table)}") for table in TABLES_OF_RUNS}
    parts = unpublished.connection.execute(f"select {', '.join(StoredObject._fields)} {rows_of('objects')}").fetchall()
    return rows, tables, [StoredObject(*part) for part in parts]


def publish(store: Store, prepared: Sequence[PreparedRuns]) -> list[str]:
    """Put prepared runs of one dataset into the store as one version, all or none, and return the ids of those that it lacked.

    Raises ``StoreError`` if the dataset has changed since, or the store cannot be written. The objects are then removed.
    """
    new = [group for group in prepared if len(group.runs) or group.gradings]
    objects = [part for group in new for part in group.objects]
    if not new:
        return []
    dataset = objects[0].dataset

    def events(runs: list[str]) -> list[AuditEvent]:
        gradings = [grading for group in new for grading in group.gradings]
        added = [new_event("added_grading", None, dataset=dataset, run=run, grading=name) for run, name in gradings]
        return [new_event("published", None, dataset=dataset, run=run) for run in runs] + added

    try:
        with scratch_folder() as folder:
            path = folder / "unpublished.duckdb"
            return store.write(lambda connection: _publish(connection, store, new, path), events)
    except BaseException as error:
        store.discard([part.name for part in objects])
        if isinstance(error, StoreMoved):
            raise StoreError("the dataset was changed in the meantime; start again") from None
        raise


def _publish(connection: duckdb.DuckDBPyConnection, store: Store, new: Sequence[PreparedRuns], path: Path) -> list[str]:
    present = {run for (run,) in connection.execute("select run from runs").fetchall()}
    rows = pl.concat([group.runs for group in new], how="vertical_relaxed").unique("run", keep="first", maintain_order=True)
    rows = rows.filter(~pl.col("run").is_in(list(present))).with_columns(position=pl.int_range(pl.len(), dtype=pl.Int32))
    runs: list[str] = rows["run"].to_list()
    gradings = [added for group in new for added in group.gradings]
    if not runs and not gradings:
        return []
    objects = {*runs, *(run for run, _ in gradings)}
    parts = {(part.kind, part.run): part for group in new for part in group.objects if part.run in objects}
    path.unlink(missing_ok=True)  # left by an attempt that lost its lock
    with duckdb.connect(path) as unpublished:
        tables = {"runs": rows, "objects": pl.DataFrame([*parts.values()], schema=list(StoredObject._fields), orient="row")}
        for table in TABLES_OF_RUNS:
            tables[table] = pl.concat([group.tables[table] for group in new]).unique(maintain_order=True)
        for table, given in tables.items():
            execute_with(unpublished, given, f"create table {table} as from given")
    dataset = new[0].objects[0].dataset
    bases = {group.before.base for group in new if group.before is not None}
    current = states(connection).get(dataset)
    if current is None or bases != {current.base}:
        raise StoreMoved
    UnpublishedCatalogue(connection, path, store.objects, {dataset: current}, set(), runs, gradings).publish(connection)
    return runs
