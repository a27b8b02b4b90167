"""Runs have gradings: several opinions on which guesses are correct, and the corrections of reviewers."""

from __future__ import annotations

import duckdb

from data.store.errors import NeedsMigration
from data.store.run_files import Objects, stored_objects

# Gradings that are derived from other tables, so a store without them has lost nothing.
DERIVED = ("imported", "graded")


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    run = connection.execute
    run("""
        create table gradings (
            dataset varchar not null, run varchar not null,
            name varchar not null,          -- for addresses: [a-z0-9-]+
            position integer not null,      -- 0: the grading of the run's responses themselves
            source varchar not null         -- import, column (of the file), rules (of Clueline) or review
        );
        -- What reviewers decided, in the order of their decisions. Rows are added and never changed.
        create table corrections (
            dataset varchar not null, run varchar not null,
            number integer not null,        -- of the run, from 1; of several that cover a response, the greatest counts
            question_id varchar not null,
            clue integer,                   -- null: every clue at which the run gave this guess
            guess varchar,
            correct double,                 -- null: no longer corrected
            corrected_at timestamp not null,
            corrected_by varchar,           -- name of the token, or system:NAME for the command line
            note varchar
        )""")
    if objects is None:
        return
    parts = stored_objects(connection, "responses")
    relation = objects.relation("responses", parts)
    run(f"""insert into gradings by name
        select dataset, run, if(bool_or(graded = 'file'), 'imported', 'graded') as name, 0 as position, 'import' as source
        from {relation} group by all""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the tables, unless they hold something that cannot be derived from other tables."""
    run = connection.execute
    for table, kept in (("corrections", "true"), ("gradings", f"name not in {DERIVED}")):
        if run(f"select 1 from {table} where {kept} limit 1").fetchone():
            raise NeedsMigration(table)
    run("delete from objects where contains(kind, '.')")
    run("drop table gradings")
    run("drop table corrections")
