"""One version of the store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import duckdb
import polars as pl

from data.polars_frames import frame
from data.store.memory import Memory, Sized
from data.store.revisions import State

T = TypeVar("T", bound=Sized)


@dataclass(frozen=True)
class Snapshot:
    """One version of the store and a cursor on it. Everything read through it belongs to the same version.

    Attributes:
        version: name of the version, never reused.
        connection: a cursor, for one thread.
        states: the state of each dataset, in the order of datasets. What was computed from a dataset holds for every version
            in which the revision of the dataset is the same.
        memory: values of single runs, kept for as long as the base of their dataset is the same.
    """

    version: str
    connection: duckdb.DuckDBPyConnection
    states: Mapping[str, State] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)

    def cached(self, dataset: str, name: str, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> list[T]:
        """A value for each of some runs, from memory where it is there.

        Args:
            dataset: of the runs.
            name: of the value.
            runs: in the order of the result.
            read: gives the values of those runs that are not in memory.
        """
        state = self.states.get(dataset)
        values = self.memory.get((dataset, state.base if state else "", name), runs, read)
        return [values[run] for run in runs]

    def frame(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a query as a polars frame."""
        return frame(self.connection, sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query as tuples: for few rows."""
        return self.connection.execute(sql, parameters).fetchall()
