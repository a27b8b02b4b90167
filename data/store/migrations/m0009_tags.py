"""Runs have tags: facts about their models that files of responses do not state, such as whether they reason."""

from __future__ import annotations

import duckdb

from data.store.errors import NeedsMigration
from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    connection.execute("""
        create table tags (
            dataset varchar not null, run varchar not null,
            tag varchar not null,       -- at most one row of a run and a tag
            value varchar not null
        )""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    if connection.execute("select 1 from tags limit 1").fetchone():
        raise NeedsMigration("tags")
    connection.execute("drop table tags")
