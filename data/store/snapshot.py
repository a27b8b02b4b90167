"""One version of the store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import polars as pl

from data.duckdb_and_polars import frame, literal, with_values
from data.human_curves import derive
from data.store.cache_validity import State
from data.store.catalogue_schema import tables_of_datasets
from data.store.files import FolderFiles
from data.store.run_cache import RunCache, Sized
from data.store.run_files import Kind, Objects, StoredObject, graded_kind, stored_objects

T = TypeVar("T", bound=Sized)
PEOPLE_TABLES = ("datasets", "exposures", "buzzes", "curves")  # what differs between the people who heard the questions
SHARE_OF_MEMORY = 0.25  # of the cache of values of runs, for what is read at a time


@dataclass(frozen=True)
class Snapshot:
    """One version of the store and a cursor on it. Everything read through it belongs to the same version.

    Attributes:
        version: name of the version, never reused.
        connection: a cursor, for one thread.
        states: the state of each dataset, in the order of datasets. What was computed from a dataset holds for every version
            in which the revision of the dataset is the same.
        run_cache: values of single runs, kept for as long as the base of their dataset is the same.
        objects: the responses and statistics of runs.
        grading: by which the responses and statistics of runs are read; blank for the first one of each run. A run without this
            grading is read by its first one.
        graded: by run, the name of the object with its grades. Empty for the first gradings.
        hidden: datasets that are stored, but left out.
        people: the human collection that is read in place of the people who were imported: the id of its run; blank for those.
    """

    version: str
    connection: duckdb.DuckDBPyConnection
    states: Mapping[str, State] = field(default_factory=dict)
    run_cache: RunCache = field(default_factory=RunCache)
    objects: Objects = field(default_factory=lambda: Objects(FolderFiles(Path())))
    grading: str = ""
    graded: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    people: str = ""

    def with_grading(self, grading: str) -> Snapshot:
        """The same version, read by another grading; by the first one of each run, if blank."""
        if grading == self.grading:
            return self
        sql = "select run, name from objects where kind = $kind"
        return replace(self, grading=grading, graded=dict(self.rows(sql, {"kind": graded_kind("grades", grading)})))

    def without(self, datasets: Collection[str]) -> Snapshot:
        """The same version as if it did not hold some datasets: nothing that is read through it has any of their rows."""
        hidden = self.hidden | (self.states.keys() & set(datasets))
        if hidden == self.hidden:
            return self
        states = {dataset: state for dataset, state in self.states.items() if dataset not in hidden}
        return replace(self, connection=self._cursor_without(hidden, ()), states=states, hidden=hidden)

    def with_people(self, dataset: str, run: str) -> Snapshot:
        """The same version, in which the people who heard the questions of a dataset are those of a human collection.

        Each respondent of the run heard the questions that it answered, alone and to the end, and buzzed at the first clue where
        it would have. One that answered nothing, and says that it did not buzz, heard the question, too. Human curves follow
        from that. Of exposures, buzzes and curves, there are then none of other datasets, nor of what was imported.

        Args:
            dataset: of the run.
            run: whose respondents say at which clues they would buzz.
        """
        if run == self.people:
            return self
        responses = self.with_grading("").responses([run])
        connection = self._cursor_without(self.hidden, PEOPLE_TABLES)
        main = f'"{current_database(connection)}".main'
        for table in PEOPLE_TABLES:
            some = rows_without(self.hidden) if table == "datasets" else "false"
            connection.execute(f"create temp table {table} as from {main}.{table} where {some}")
        connection.execute(
            f"""insert into exposures by name select distinct dataset, question_id, sample as match_id, sample as team,
                'human' as team_kind from {responses} where not failed or buzz is not null"""
        )
        connection.execute(
            f"""insert into buzzes by name
            select p.dataset, p.question_id, p.sample as match_id, p.sample as team, 'human' as team_kind,
                c.word_end - 1 as word, p.clue, p.correct = 1 as correct, p.guess
            from {responses} p join clues c using (dataset, question_id, clue) where p.buzz and not p.failed
            qualify row_number() over (partition by p.question_id, p.sample order by p.clue) = 1"""
        )
        derive(connection, dataset)
        return replace(self, connection=connection, people=run)

    def _cursor_without(self, hidden: frozenset[str], left_out: Collection[str]) -> duckdb.DuckDBPyConnection:
        """A cursor of its own, to which the tables, but for those left out, have no row of the hidden datasets."""
        connection = self.connection.cursor()
        database = current_database(connection)
        # Temporary views belong to this cursor alone, and come before tables of the same name.
        tables = [table for table in tables_of_datasets(connection, database) if table not in left_out] if hidden else []
        for table in tables:
            connection.execute(f'create temp view {table} as from "{database}".main.{table} where {rows_without(hidden)}')
        return connection

    def has_revision(self, revision: str) -> bool:
        """Whether a dataset has this revision."""
        return any(state.revision == revision for state in self.states.values())

    def responses(self, runs: Sequence[str]) -> str:
        """SQL for the responses of some runs, in the order of the runs, and in each, of question ids and clues.

        Beside the columns of ``data.store.run_files.TYPES``, there are ``dataset`` and ``run``.

        Raises:
            DamagedStore: the file of a run is lost or not what was written.
        """
        return self._relation("responses", runs)

    def statistics(self, runs: Sequence[str]) -> str:
        """SQL for the statistics of some runs, in the order of the runs, and in each, of questions. See ``responses``."""
        return self._relation("statistics", runs)

    def read_runs(self, kind: Kind, runs: Sequence[str], columns: Sequence[str]) -> dict[str, pl.DataFrame]:
        """Columns of the responses or statistics of each run, in the order in which they are stored.

        Args:
            kind: responses or statistics.
            runs: which ones. One that is not stored has no rows.
            columns: SQL of each.

        Raises:
            DamagedStore: the file of a run is lost or not what was written.
        """
        # The run of each row follows from the sizes of the files. To read it as a text takes longer than a number.
        parts = self._parts(kind, runs)
        rows = self.frame(f"select {', '.join(columns)} from {self._relation_of(kind, parts)}")
        ends = np.cumsum([part.rows for part in parts], dtype=int).tolist()
        tables = {part.run: rows[end - part.rows : end] for part, end in zip(parts, ends, strict=True)}
        return {run: tables.get(run, rows[:0]) for run in runs}

    def _relation(self, kind: Kind, runs: Sequence[str]) -> str:
        return self._relation_of(kind, self._parts(kind, runs))

    def _relation_of(self, kind: Kind, parts: Sequence[StoredObject]) -> str:
        if kind == "responses" and self.graded:
            runs = [part.run for part in parts if part.run in self.graded]
            grades = stored_objects(self.connection, graded_kind("grades", self.grading), runs=runs)
            return self.objects.graded_responses(parts, {part.run: part for part in grades})
        return self.objects.relation(kind, parts)

    def _parts(self, kind: Kind, runs: Sequence[str]) -> list[StoredObject]:
        parts = stored_objects(self.connection, kind, runs=runs)
        if kind != "statistics" or not self.graded:
            return parts
        graded = stored_objects(self.connection, graded_kind(kind, self.grading), runs=runs)
        by_run = {part.run: part for part in graded}
        return [by_run.get(part.run, part) for part in parts]

    def cached(self, dataset: str, name: str, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> list[T]:
        """A value for each of some runs, from memory where it is there.

        Args:
            dataset: of the runs.
            name: of the value.
            runs: in the order of the result.
            read: gives the values of those runs that are not in memory.
        """
        key = self._cache_key(dataset, name)
        if not self.graded:
            values = self.run_cache.get(key, runs, read)
            return [values[run] for run in runs]
        # A correction makes new grades, but leaves the base of the dataset as it is. So what is read by a grading is kept by the
        # name of the grades, and what runs without it have is shared with the first gradings.
        keys = {run: self._graded_run(run) for run in runs}
        run_of = {key: run for run, key in keys.items()}

        def read_keys(missing: list[str]) -> dict[str, T]:
            values = read([run_of[key] for key in missing])
            return {keys[run]: value for run, value in values.items()}

        values = self.run_cache.get(key, [*run_of], read_keys)
        return [values[keys[run]] for run in runs]

    def for_reading(self, size: int) -> Snapshot:
        """The same version, to read values of so many bytes. It keeps none of them where they would crowd out all others."""
        fits = size < SHARE_OF_MEMORY * self.run_cache.capacity
        return self if fits else replace(self, run_cache=RunCache(0))

    def not_cached(self, dataset: str, name: str, runs: Sequence[str]) -> list[str]:
        """Those of some runs of which a value is not in memory; see ``cached``."""
        missing = {*self.run_cache.missing(self._cache_key(dataset, name), [self._graded_run(run) for run in runs])}
        return [run for run in runs if self._graded_run(run) in missing]

    def _cache_key(self, dataset: str, name: str) -> tuple[str, str, str]:
        state = self.states.get(dataset)
        return (dataset, f"{state.base if state else ''} {self.people}", name)

    def _graded_run(self, run: str) -> str:
        """Under what the values of a run are kept."""
        return f"{run} {self.graded[run]}" if run in self.graded else run

    def frame(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a query as a polars frame."""
        return frame(self.connection, sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query as tuples: for few rows."""
        if isinstance(parameters, dict):
            sql, parameters = with_values(sql, parameters)
        return self.connection.execute(sql, parameters or None).fetchall()


def current_database(connection: duckdb.DuckDBPyConnection) -> str:
    """The name of the catalogue that a cursor reads."""
    ((name,),) = connection.execute("select current_database()").fetchall()
    return str(name)


def rows_without(datasets: Collection[str]) -> str:
    """SQL condition that rows are not of some datasets."""
    return f"not list_contains([{', '.join(map(literal, sorted(datasets)))}]::varchar[], dataset)"
