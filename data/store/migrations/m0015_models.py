"""Models are things: each name of a run is a name of one model. Runs say why they were withdrawn."""

from __future__ import annotations

import duckdb

from clueline.data.store.errors import NeedsMigration
from clueline.data.store.migrations import drop_column
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the tables. Each name that a run has becomes a model of its own."""
    connection.execute("""
        create table models (
            model varchar not null,         -- shown for all its names
            organisation varchar,
            released varchar,               -- ISO 8601: a year, a month or a day
            sizes varchar,                  -- such as 8B, 70B
            notes varchar
        );
        create table model_names (
            name varchar not null,          -- as in runs.model; each is there once
            model varchar not null
        );
        insert into models (model) select distinct model from runs;
        insert into model_names select model, model from models;
        alter table runs add column withdrawn_reason varchar""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the tables, unless somebody merged, renamed or described models."""
    changed = """select 1 from model_names where name <> model union all
        select 1 from models where coalesce(organisation, released, sizes, notes) is not null limit 1"""
    if connection.execute(changed).fetchone():
        raise NeedsMigration("models")
    drop_column(connection, "runs", "withdrawn_reason")
    connection.execute("drop table model_names; drop table models")
