"""One version of the store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import polars as pl

from data.polars_frames import frame
from data.store.files import FolderFiles
from data.store.objects import Kind, Objects, stored_objects
from data.store.revisions import State
from data.store.run_cache import RunCache, Sized

T = TypeVar("T", bound=Sized)


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
    """

    version: str
    connection: duckdb.DuckDBPyConnection
    states: Mapping[str, State] = field(default_factory=dict)
    run_cache: RunCache = field(default_factory=RunCache)
    objects: Objects = field(default_factory=lambda: Objects(FolderFiles(Path())))

    def responses(self, runs: Sequence[str]) -> str:
        """SQL for the responses of some runs, in the order of the runs, and in each, of question ids and clues.

        Beside the columns of ``data.store.objects.TYPES``, there are ``dataset`` and ``run``.

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
        parts = stored_objects(self.connection, kind, runs=runs)
        rows = self.frame(f"select {', '.join(columns)} from {self.objects.relation(kind, parts)}")
        ends = np.cumsum([part.rows for part in parts], dtype=int).tolist()
        tables = {part.run: rows[end - part.rows : end] for part, end in zip(parts, ends, strict=True)}
        return {run: tables.get(run, rows[:0]) for run in runs}

    def _relation(self, kind: Kind, runs: Sequence[str]) -> str:
        return self.objects.relation(kind, stored_objects(self.connection, kind, runs=runs))

    def cached(self, dataset: str, name: str, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> list[T]:
        """A value for each of some runs, from memory where it is there.

        Args:
            dataset: of the runs.
            name: of the value.
            runs: in the order of the result.
            read: gives the values of those runs that are not in memory.
        """
        state = self.states.get(dataset)
        values = self.run_cache.get((dataset, state.base if state else "", name), runs, read)
        return [values[run] for run in runs]

    def frame(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a query as a polars frame."""
        return frame(self.connection, sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query as tuples: for few rows."""
        return self.connection.execute(sql, parameters).fetchall()
