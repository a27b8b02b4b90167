"""Migrations: steps from one schema of the store to the next, one numbered module each.

``m0002_failed_calls.py`` is the step to schema 2: its ``migrate(connection, objects)`` changes the tables and fills what is new.
``schema.sql`` is schema 1. A new store is made from it by the same steps, so that a new store and a migrated one cannot
differ. A step, once released, is never changed.

Human curves, statistics and difficulties follow from other tables. They are computed again after the last step, whatever the
steps were. So a step never computes them, and need not know what later versions make of them.

A step may also have ``revert(connection)``, which makes the tables again what they were before it. Then hosts can be upgraded one
by one: this version reads the schema before its own, as if the last step had been applied, and writes it, until somebody migrates
the store. ``revert`` raises ``NeedsMigration`` where the earlier tables cannot hold what was written; ``drop_column`` does so.
If responses or statistics have new columns, ``FORM_BEFORE`` of the step is the form of files that the version before it reads.

From schema 2 on, the table ``schema_version`` holds the schema of a store. A store without it has schema 1.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import NamedTuple

import duckdb

from data.store.derived_tables import derive_all
from data.store.errors import NeedsMigration
from data.store.run_files import FORM, Objects


class Step(NamedTuple):
    """A step to the next schema.

    Attributes:
        migrate: applies it. Without objects, the store is new and empty, or only its tables are to be changed.
        revert: undoes it in the tables; None if that cannot be.
        form_before: of the objects that the version before it reads.
    """

    migrate: Callable[[duckdb.DuckDBPyConnection, Objects | None], None]
    revert: Callable[[duckdb.DuckDBPyConnection], None] | None = None
    form_before: int = FORM


FIRST = 1  # the schema of schema.sql
MODULE = re.compile(r"m(\d{4})_\w+")


@cache
def steps() -> tuple[Step, ...]:
    """The step of every module here, in order: the first one makes schema 2."""
    modules = {int(match[1]): name for _, name, _ in pkgutil.iter_modules(__path__) if (match := MODULE.fullmatch(name))}
    numbers = sorted(modules)
    if numbers != list(range(FIRST + 1, FIRST + 1 + len(numbers))):
        raise RuntimeError(f"migrations are numbered from {FIRST + 1} without a gap, not {numbers}")
    return tuple(_step(importlib.import_module(f"{__name__}.{modules[number]}")) for number in numbers)


def _step(module: ModuleType) -> Step:
    return Step(module.migrate, getattr(module, "revert", None), getattr(module, "FORM_BEFORE", FORM))


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
        step.migrate(connection, objects)
    if missing:
        if objects is not None:
            derive_all(connection, objects)
        _record(connection, current_schema())


def is_served(schema: int) -> bool:
    """Whether this version reads and writes a schema that is not its own: the one before it, if its last step can be undone."""
    return schema == current_schema() - 1 and steps()[-1].revert is not None


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo the last step, in a catalogue of which ``is_served`` was true before it was migrated.

    Raises:
        NeedsMigration: the earlier schema cannot hold what was written.
    """
    undo = steps()[-1].revert
    assert undo is not None
    undo(connection)
    _record(connection, current_schema() - 1)


def drop_column(connection: duckdb.DuckDBPyConnection, table: str, column: str, default: str = "null") -> None:
    """Undo the adding of a column. Raises ``NeedsMigration`` if some row has another value than the default, which is SQL."""
    if connection.execute(f"select 1 from {table} where {column} is distinct from {default} limit 1").fetchone():
        raise NeedsMigration(f"{table}.{column}")
    connection.execute(f"alter table {table} drop column {column}")


def _record(connection: duckdb.DuckDBPyConnection, schema: int) -> None:
    connection.execute("create or replace table schema_version as select $version::integer as version", {"version": schema})
