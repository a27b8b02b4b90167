"""Datasets know whether their teams played head to head: then at most one team of a room can be right."""

import duckdb

from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the column. It is filled with the human curves, after the last step."""
    connection.execute("alter table datasets add column head_to_head boolean default false")
