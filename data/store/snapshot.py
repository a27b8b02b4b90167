"""One version of the store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import duckdb
import numpy as np
import polars as pl

from clueline.data.duckdb_and_polars import frame, inline_plain_values, literal
from clueline.data.human_curves import UNSTATED_END, derive, derive_curves
from clueline.data.store import difficulty
from clueline.data.store.cache_validity_tokens import State
from clueline.data.store.catalogue_schema import tables_of_datasets
from clueline.data.store.files import StoreFiles
from clueline.data.store.run_cache import RunCache, Sized
from clueline.data.store.run_files import Kind, Objects, StoredObject, graded_kind, stored_objects
from clueline.data.store.run_statistics import computed
from clueline.data.sufficient_statistics import EDITION

T = TypeVar("T", bound=Sized)
R = TypeVar("R")
P = ParamSpec("P")
STATED_ENDS = "stated-ends"  # in place of a run of ``people``: the imported ones, without plays whose end nobody stated
PEOPLE_TABLES = ("datasets", "exposures", "buzzes", "left_out_plays", "curves")  # which depend on who heard the questions
SHARE_OF_MEMORY = 0.25  # of the run cache's capacity; values that are read together and take more are not cached


@dataclass(frozen=True)
class Snapshot:
    """One version of the store and a cursor on it. Everything read through it belongs to the same version."""

    version: str  # never reused
    connection: duckdb.DuckDBPyConnection  # a cursor, for one thread
    # In the order of datasets. Results computed from a dataset hold for every version in which its revision is the same.
    states: Mapping[str, State] = field(default_factory=dict)
    run_cache: RunCache = field(default_factory=RunCache)
    objects: Objects = field(default_factory=lambda: Objects(StoreFiles(Path())))
    grading: str = ""  # by which runs are read; blank for each run's first grading, as for a run without this one
    graded: Mapping[str, str] = field(default_factory=dict)  # name of the object with a run's grades, unless they are the first
    hidden: frozenset[str] = frozenset()  # datasets that are stored but left out
    # The run of the human collection that is read instead of the imported people, or ``STATED_ENDS``; blank to read all of those.
    people: str = ""
    marks_disputed: bool = False  # whether responses have a column ``disputed``; see ``Objects.graded_responses``
    # What ``once_per_snapshot`` keeps, for this snapshot and those derived from it.
    results: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def with_grading(self, grading: str) -> Snapshot:
        """Return the same version under another grading; under each run's first grading if blank."""
        if grading == self.grading:
            return self
        sql = "select run, name from objects where kind = $kind"
        return replace(self, grading=grading, graded=dict(self.rows(sql, {"kind": graded_kind("grades", grading)})))

    def with_disputed_marked(self) -> Snapshot:
        return replace(self, marks_disputed=True)

    def further_grades(self, runs: Sequence[str]) -> dict[str, list[StoredObject]]:
        """Return the grades of every further grading that differs from the first, by run; runs without any are left out."""
        sql = "select distinct kind from objects where starts_with(kind, $kind) order by kind"
        kinds = [kind for (kind,) in self.rows(sql, {"kind": graded_kind("grades", "")})]
        grades: dict[str, list[StoredObject]] = {}
        for part in (part for kind in kinds for part in stored_objects(self.connection, kind, runs=runs)):
            grades.setdefault(part.run, []).append(part)
        return grades

    def without(self, datasets: Collection[str]) -> Snapshot:
        """Return the same version as if it did not hold some datasets: nothing read through it contains any of their rows."""
        hidden = self.hidden | (self.states.keys() & set(datasets))
        if hidden == self.hidden:
            return self
        states = {dataset: state for dataset, state in self.states.items() if dataset not in hidden}
        return replace(self, connection=self._cursor_without(hidden, ()), states=states, hidden=hidden)

    def with_people(self, dataset: str, run: str) -> Snapshot:
        """Return the same version, in which the people who heard a dataset's questions are those of a human collection.

        Each respondent of the run counts as having heard the questions that it answered, alone and to the end, and as having
        buzzed at the first clue at which it said it would. A question without an answer also counts as heard if the respondent
        said that it did not buzz. Human curves are computed from that. The snapshot then has no exposures, buzzes, plays that are
        left out or curves of other datasets or of the imported people.
        """
        if run == self.people:
            return self
        if run == STATED_ENDS:
            return self._with_stated_ends(dataset)
        responses = self.with_grading("").responses([run])
        connection = self._cursor_without(self.hidden, PEOPLE_TABLES)
        main = f'"{current_database(connection)}".main'
        for table in PEOPLE_TABLES:
            some = rows_without(self.hidden) if table == "datasets" else "false"
            connection.execute(f"create temp table {table} as from {main}.{table} where {some}")
        connection.execute(
            f"""insert into exposures by name select distinct dataset, question_id, sample as match_id, sample as team,
                'human' as team_kind, true as end_stated from {responses} where not failed or buzz is not null"""
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

    def _with_stated_ends(self, dataset: str) -> Snapshot:
        """Return the same version without plays whose end nobody stated, with the curves and difficulties that follow.

        Whether teams played head to head stays as it is. Tables of people have no rows of other datasets.
        """
        key = (STATED_ENDS, dataset, self.hidden)
        if key not in self.results:
            self.results[key] = self._cursor_with_stated_ends(dataset)
        return replace(self, connection=self.results[key], people=STATED_ENDS)

    def _cursor_with_stated_ends(self, dataset: str) -> duckdb.DuckDBPyConnection:
        connection = self._cursor_without(self.hidden, (*PEOPLE_TABLES, "questions"))
        main = f'"{current_database(connection)}".main'
        of_people = f"dataset = {literal(dataset)}"
        for table in (*PEOPLE_TABLES, "questions"):
            some = rows_without(self.hidden) if table in ("datasets", "questions") else of_people
            connection.execute(f"create temp table {table} as from {main}.{table} where {some}")
        connection.execute(f"delete from exposures e where {UNSTATED_END}")
        derive_curves(connection, dataset)
        difficulty.derive(connection, dataset)
        return connection

    @property
    def collection(self) -> str:
        """The run of the human collection that is read instead of the imported people; blank if those are read."""
        return "" if self.people == STATED_ENDS else self.people

    def _cursor_without(self, hidden: frozenset[str], left_out: Collection[str]) -> duckdb.DuckDBPyConnection:
        connection = self.connection.cursor()
        database = current_database(connection)
        # Temporary views belong to this cursor alone, and take precedence over tables of the same name.
        tables = [table for table in tables_of_datasets(connection, database, of_models=True) if table not in left_out]
        for table in tables if hidden else ():
            connection.execute(f'create temp view {table} as from "{database}".main.{table} where {rows_without(hidden)}')
        return connection

    def has_revision(self, revision: str) -> bool:
        return any(state.revision == revision for state in self.states.values())

    def responses(self, runs: Sequence[str], questions: Sequence[str] = ()) -> str:
        """Return SQL for the responses of some runs, in the order of the runs and, within each, of question ids and clues.

        Those of a few ``questions``, given by id, are read without most of the others, and are in any order. The columns are
        those of ``data.store.run_files.TYPES``, ``dataset`` and ``run``. Raises ``DamagedStore``.
        """
        return self._relation_of("responses", self._parts("responses", runs), questions)

    def read_runs(self, kind: Kind, runs: Sequence[str], columns: Sequence[str]) -> dict[str, pl.DataFrame]:
        """Return columns (SQL; names, of statistics) of each run: of responses in the order of ``responses``, of statistics in
        the order of questions.

        Statistics follow from the responses. So those whose file is damaged, or of an earlier edition, are computed again. A run
        that is not stored has no rows. Raises ``DamagedStore``.
        """
        # The run of each row follows from the sizes of the files. Reading it as a text would take longer than a number.
        parts = self._parts(kind, runs)
        lost = self._lost(parts) if kind == "statistics" else []
        parts = [part for part in parts if part.run not in lost]
        rows = self.frame(f"select {', '.join(columns)} from {self._relation_of(kind, parts)}")
        ends = np.cumsum([part.rows for part in parts], dtype=int).tolist()
        tables = {part.run: rows[end - part.rows : end] for part, end in zip(parts, ends, strict=True)}
        for part in self.objects.in_disorder(self.connection, parts) if kind == "responses" else ():
            relation = self._relation_of(kind, [part])
            tables[part.run] = self.frame(f"select {', '.join(columns)} from {relation} order by question_id, sample, clue")
        if lost:
            grades = stored_objects(self.connection, graded_kind("grades", self.grading), runs=lost) if self.graded else []
            responses = stored_objects(self.connection, "responses", runs=lost)
            of_runs = computed(self.connection, self.objects, responses, {part.run: part for part in grades})
            tables |= {run: table.select(columns) for run, table in of_runs.items()}
        return {run: tables.get(run, rows[:0]) for run in runs}

    def _lost(self, statistics: Sequence[StoredObject]) -> list[str]:
        """Return the runs of which the file of statistics is damaged, or of an earlier edition."""
        outdated = [part for part in statistics if part.form < EDITION]
        damaged = self.objects.damages([part for part in statistics if part not in outdated])
        return [part.run for part in (*outdated, *(part for part, _ in damaged))]

    def _relation_of(self, kind: Kind, parts: Sequence[StoredObject], questions: Sequence[str] = ()) -> str:
        if kind == "responses" and (self.graded or self.marks_disputed or questions):
            runs = [part.run for part in parts if part.run in self.graded]
            grades = stored_objects(self.connection, graded_kind("grades", self.grading), runs=runs)
            opinions = self.further_grades([part.run for part in parts]) if self.marks_disputed else None
            by_run = {part.run: part for part in grades}
            return self.objects.graded_responses(parts, by_run, opinions=opinions, questions=questions)
        return self.objects.relation(kind, parts)

    def _parts(self, kind: Kind, runs: Sequence[str]) -> list[StoredObject]:
        parts = stored_objects(self.connection, kind, runs=runs)
        if kind != "statistics" or not self.graded:
            return parts
        graded = stored_objects(self.connection, graded_kind(kind, self.grading), runs=runs)
        by_run = {part.run: part for part in graded}
        return [by_run.get(part.run, part) for part in parts]

    def cached(
        self,
        dataset: str,
        name: str,
        runs: Sequence[str],
        read: Callable[[list[str]], Mapping[str, T]],
        grades: Mapping[str, str] | None = None,
    ) -> list[T]:
        """Return a value for each of some runs, from memory or else from ``read``, which returns the values of runs by id.

        ``grades`` names the grades that the value of a run depends on, if these are not those of the snapshot's grading.
        """
        keys = self._run_keys(runs, self.graded if grades is None else grades)
        run_of = {key: run for run, key in keys.items()}

        def read_keys(missing: list[str]) -> dict[str, T]:
            values = read([run_of[key] for key in missing])
            return {keys[run]: value for run, value in values.items()}

        values = self.run_cache.get(self._cache_key(dataset, name), [*run_of], read_keys)
        return [values[keys[run]] for run in runs]

    def for_reading(self, size: int) -> Snapshot:
        """Return the same version for reading values of ``size`` bytes. It caches none if they would crowd out all others."""
        fits = size < SHARE_OF_MEMORY * self.run_cache.capacity
        return self if fits else replace(self, run_cache=RunCache(0))

    def not_cached(self, dataset: str, name: str, runs: Sequence[str]) -> list[str]:
        """Return those of some runs whose value is not in memory. See ``cached``."""
        keys = self._run_keys(runs, self.graded)
        missing = {*self.run_cache.missing(self._cache_key(dataset, name), [*keys.values()])}
        return [run for run in runs if keys[run] in missing]

    def _cache_key(self, dataset: str, name: str) -> tuple[str, str, str]:
        state = self.states.get(dataset)
        return (dataset, state.base if state else "", f"{name} of {self.people}")

    def _run_keys(self, runs: Sequence[str], grades: Mapping[str, str]) -> dict[str, str]:
        # A correction makes new grades but leaves the dataset's base as it is. So values under a grading are cached by the name
        # of the object with the grades. Runs without this grading share the values of their first grading.
        return {run: f"{run} {grades[run]}" if run in grades else run for run in runs}

    def frame(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Return the rows of a query as a frame, read once for each snapshot."""
        return self._read_once(frame, sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query as tuples, read once for each snapshot. Meant for few rows."""
        return [*self._read_once(_rows, sql, parameters)]

    def _read_once(self, read: Callable[[duckdb.DuckDBPyConnection, str, Any], R], sql: str, parameters: Any) -> R:
        key = (read, self.people, self.hidden, sql, repr(parameters))
        if key not in self.results:
            self.results[key] = read(self.connection, sql, parameters)
        return cast("R", self.results[key])


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
    if isinstance(parameters, dict):
        sql, parameters = inline_plain_values(sql, parameters)
    return connection.execute(sql, parameters or None).fetchall()


def current_database(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the catalogue that a cursor reads."""
    ((name,),) = connection.execute("select current_database()").fetchall()
    return str(name)


def rows_without(datasets: Collection[str]) -> str:
    """Return an SQL condition that excludes the rows of some datasets."""
    return f"not list_contains([{', '.join(map(literal, sorted(datasets)))}]::varchar[], dataset)"


def once_per_snapshot(query: Callable[Concatenate[Snapshot, P], R]) -> Callable[Concatenate[Snapshot, P], R]:
    """Let a query be computed once for each snapshot, and so for each request, however many views ask for it.

    Its arguments must be hashable. Its result is shared, so nobody may change it.
    """

    @wraps(query)
    def kept(snapshot: Snapshot, *arguments: P.args, **named: P.kwargs) -> R:
        view = snapshot.grading, snapshot.people, snapshot.hidden, snapshot.marks_disputed
        key = (query, view, arguments, tuple(sorted(named.items())))
        if key not in snapshot.results:
            snapshot.results[key] = query(snapshot, *arguments, **named)
        return cast("R", snapshot.results[key])

    return kept
