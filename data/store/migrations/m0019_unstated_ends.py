"""Plays without a buzz of which nobody knows where they ended are kept, and marked."""

from __future__ import annotations

import duckdb

from clueline.data.store.migrations import drop_column
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the column. Earlier imports left such plays out: the table ``left_out_plays`` counts them."""
    connection.execute("alter table exposures add column end_stated boolean default true")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    drop_column(connection, "exposures", "end_stated", "true")
