"""Responses have attributes: what their file states in addition to the columns that Clueline knows, such as the prompt."""

from __future__ import annotations

import duckdb

from data.store.errors import NeedsMigration
from data.store.run_files import Objects

FORM_BEFORE = 2  # form of responses without attributes


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the table. Files of responses that lack the column are read as if it were null: no earlier run has attributes."""
    connection.execute("""
        create table response_attributes (
            dataset varchar not null, run varchar not null,
            attribute varchar not null,
            value varchar,                  -- null: the run has too many values of it to choose from
            responses bigint not null       -- of the run, with this value; of any, where it is null
        )""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    if connection.execute("select 1 from response_attributes limit 1").fetchone():
        raise NeedsMigration("response_attributes")
    connection.execute("drop table response_attributes")
