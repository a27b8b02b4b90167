"""Answers with a score that is no probability are kept, and runs count them."""

from __future__ import annotations

import duckdb

from clueline.data.store.migrations import drop_column
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the column. Earlier runs have no such answers."""
    connection.execute("alter table runs add column scored bigint default 0")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    drop_column(connection, "runs", "scored", "0")
