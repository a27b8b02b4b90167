"""A fourth human curve: correct buzzes so far over all buzzes of the question, as in GRACE's released code."""

import duckdb

from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the column. Curves and statistics are computed after the last step."""
    connection.execute("alter table curves add column release_share double")
