"""Datasets say whether their teams played head to head. If so, at most one team in a room can be right."""

import duckdb

from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the column. It is filled together with the human curves, after the last step."""
    connection.execute("alter table datasets add column head_to_head boolean default false")
