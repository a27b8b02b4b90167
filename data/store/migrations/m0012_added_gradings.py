"""Gradings that a later import added to a stored run say who brought them, and when."""

from __future__ import annotations

import duckdb

from data.store.migrations import drop_column
from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the columns. They are null for a grading that came with its run."""
    connection.execute("alter table gradings add column added_at timestamp")
    connection.execute("alter table gradings add column added_by varchar")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    drop_column(connection, "gradings", "added_at")
    drop_column(connection, "gradings", "added_by")
