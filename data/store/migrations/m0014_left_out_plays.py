"""Plays and buzzes of people that an import leaves out of the human curves are counted, by question, match and reason."""

from __future__ import annotations

import duckdb

from clueline.data.store.errors import NeedsMigration
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the table. It has no rows of datasets that were imported before."""
    connection.execute("""
        create table left_out_plays (
            dataset varchar not null, question_id varchar not null, match_id varchar not null,
            reason varchar not null,        -- what was left out and why, in words that a page shows
            plays integer not null          -- at least 1
        )""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the table, unless plays were left out."""
    if connection.execute("select 1 from left_out_plays limit 1").fetchone():
        raise NeedsMigration("left_out_plays")
    connection.execute("drop table left_out_plays")
