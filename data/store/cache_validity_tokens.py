"""Revisions of datasets: a result computed from a dataset is valid as long as the dataset's revision is the same.

An upload creates a new version of the whole store, but changes only one dataset, and there neither questions nor people nor
earlier runs. So a dataset also has a ``base``: values of single runs are valid as long as the base is the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import duckdb

from clueline.data.duckdb_and_polars import execute


class State(NamedTuple):
    """Random tokens, never reused: ``revision`` for the whole dataset, ``base`` for the part that a new run does not change."""

    revision: str
    base: str


def renew_revisions(connection: duckdb.DuckDBPyConnection, datasets: Iterable[str], bases: Iterable[str] = ()) -> None:
    """Give changed datasets a new revision, and those whose questions, people or earlier runs changed (``bases``) a new base."""
    rebased = set(bases)
    before = states(connection)
    for dataset in sorted({*datasets, *rebased}):
        base = secrets.token_hex(8) if dataset in rebased or dataset not in before else before[dataset].base
        execute(connection, "delete from revisions where dataset = $d", {"d": dataset})
        execute(connection, "insert into revisions values ($d, $r, $b)", {"d": dataset, "r": secrets.token_hex(8), "b": base})


def states(connection: duckdb.DuckDBPyConnection) -> dict[str, State]:
    """Return the state of each dataset, in the order of datasets."""
    sql = "select dataset, revision, base from datasets join revisions using (dataset) order by position"
    return {dataset: State(revision, base) for dataset, revision, base in connection.execute(sql).fetchall()}
