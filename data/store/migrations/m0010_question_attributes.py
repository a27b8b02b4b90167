"""Questions have attributes: what their file states in addition to the columns that Clueline knows, such as a language."""

from __future__ import annotations

import duckdb

from data.store.errors import NeedsMigration
from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    connection.execute("""
        create table attributes (
            dataset varchar not null, question_id varchar not null,
            attribute varchar not null,     -- at most one row of a question and an attribute
            value varchar not null
        )""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    if connection.execute("select 1 from attributes limit 1").fetchone():
        raise NeedsMigration("attributes")
    connection.execute("drop table attributes")
