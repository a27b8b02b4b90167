"""Migrations: steps from one schema of the store to the next, one numbered module each.

``m0002_failed_calls.py`` is the step to schema 2: its ``migrate(connection, objects)`` changes the tables and fills what is new.
``schema.sql`` is schema 1. A new store is made from it by the same steps, so that a new store and a migrated one cannot
differ. A step, once released, is never changed.

Human curves, statistics and difficulties follow from other tables. They are computed again after the last step, whatever the
steps were. So a step never computes them, and need not know what later versions make of them.

From schema 2 on, the table ``schema_version`` holds the schema of a store. A store without it has schema 1.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache

import duckdb

from data.store.derived_tables import derive_all
from data.store.objects import Objects

Step = Callable[[duckdb.DuckDBPyConnection, Objects | None], None]  # no objects: the store is new, and empty
FIRST = 1  # the schema of schema.sql
MODULE = re.compile(r"m(\d{4})_\w+")


@cache
def steps() -> tuple[Step, ...]:
    """``migrate`` of every module here, in order: the first one makes schema 2."""
    modules = {int(match[1]): name for _, name, _ in pkgutil.iter_modules(__path__) if (match := MODULE.fullmatch(name))}
    numbers = sorted(modules)
    if numbers != list(range(FIRST + 1, FIRST + 1 + len(numbers))):
        raise RuntimeError(f"migrations are numbered from {FIRST + 1} without a gap, not {numbers}")
    return tuple(importlib.import_module(f"{__name__}.{modules[number]}").migrate for number in numbers)


def current_schema() -> int:
    """The schema that this version of Clueline reads and writes."""
    return FIRST + len(steps())


def schema_of(connection: duckdb.DuckDBPyConnection) -> int:
    """The schema of the store that a connection is to."""
    tables = "select 1 from duckdb_tables() where database_name = current_database() and table_name = 'schema_version'"
    if not connection.execute(tables).fetchall():
        return FIRST
    return int(connection.execute("select version from schema_version").fetchall()[0][0])


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Apply the steps that a store lacks, compute what follows from the tables, and record the schema that it has then.

    Args:
        connection: to a catalogue.
        objects: of the store; None for a new one, which is empty.
    """
    missing = steps()[schema_of(connection) - FIRST :]
    for step in missing:
        step(connection, objects)
    if missing:
        if objects is not None:
            derive_all(connection, objects)
        connection.execute(
            "create or replace table schema_version as select $version::integer as version", {"version": current_schema()}
        )
