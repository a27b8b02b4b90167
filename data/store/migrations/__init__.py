"""Migrations: steps from one schema of the store to the next, one numbered module each.

``m0013_answer_states.py`` is the step to schema 13. Its ``migrate(connection, objects)`` changes tables and fills what is new.
``schema.sql`` is schema 12, the oldest that is read. A new store is made from it by the same steps, so a new store and a migrated
one cannot differ. Once released, a step is never changed. Human curves, statistics and
difficulties are recomputed after the last step of every migration, so a step never computes them.

A step can also have ``revert(connection)``, which restores the tables to what they were before it. Then hosts can be upgraded one
by one: until somebody migrates the store, this version reads the previous schema as if the last step had been applied, and still
writes the previous schema. ``revert`` raises ``NeedsMigration`` if the earlier tables cannot hold what was written. If responses
have new columns, the step's ``FORM_BEFORE`` is the form of files that the previous version reads.

The table ``schema_version`` holds the schema of a store. A store without it has schema 1.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import duckdb

from clueline.data import human_curves
from clueline.data.store import difficulty, run_statistics
from clueline.data.store.errors import NeedsMigration, UnknownSchema
from clueline.data.store.run_files import FORM, Objects


class Step(NamedTuple):
    """A step to the next schema. ``revert`` is None if it cannot be undone.

    If the ``objects`` of ``migrate`` are None, the store is new and empty, or only its tables are changed.
    """

    migrate: Callable[[duckdb.DuckDBPyConnection, Objects | None], None]
    revert: Callable[[duckdb.DuckDBPyConnection], None] | None = None
    form_before: int = FORM


FIRST = 12  # the schema of schema.sql
MODULE = re.compile(r"m(\d{4})_\w+")


@cache
def steps() -> tuple[Step, ...]:
    """Return the step of every module here, in order."""
    modules = {int(match[1]): name for _, name, _ in pkgutil.iter_modules(__path__) if (match := MODULE.fullmatch(name))}
    numbers = sorted(modules)
    if numbers != list(range(FIRST + 1, FIRST + 1 + len(numbers))):
        raise RuntimeError(f"migrations are numbered from {FIRST + 1} without a gap, not {numbers}")
    loaded = [importlib.import_module(f"{__name__}.{modules[number]}") for number in numbers]
    return tuple(Step(m.migrate, getattr(m, "revert", None), getattr(m, "FORM_BEFORE", FORM)) for m in loaded)


def current_schema() -> int:
    """Return the number of the schema that this version of Clueline reads and writes."""
    return FIRST + len(steps())


def schema_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the schema of the catalogue that a connection is to."""
    tables = "select 1 from duckdb_tables() where database_name = current_database() and table_name = 'schema_version'"
    if not connection.execute(tables).fetchall():
        return 1
    return int(connection.execute("select version from schema_version").fetchall()[0][0])


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Apply the steps that a store lacks, recompute what is derived from its tables, and record its new schema.

    ``objects`` is None for a new store, which is empty, or to change only the tables. Then nothing is recomputed.
    """
    schema = schema_of(connection)
    if schema < FIRST:
        raise UnknownSchema(schema, FIRST)
    missing = steps()[schema - FIRST :]
    for step in missing:
        step.migrate(connection, objects)
    if missing:
        if objects is not None:
            for (dataset,) in connection.execute("select dataset from datasets order by position").fetchall():
                human_curves.derive(connection, dataset)
                run_statistics.derive(connection, objects, dataset)
                difficulty.derive_accuracies(connection, objects, dataset)
                difficulty.derive(connection, dataset)
        _record(connection, current_schema())


def can_serve_schema(schema: int) -> bool:
    """Return whether this version can read and write an earlier schema: the previous one, if the last step can be undone."""
    return schema == current_schema() - 1 and steps()[-1].revert is not None


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo the last step in a catalogue that ``can_serve_schema`` accepted before it was migrated. Raises ``NeedsMigration``."""
    undo = steps()[-1].revert
    assert undo is not None
    undo(connection)
    _record(connection, current_schema() - 1)


def drop_column(connection: duckdb.DuckDBPyConnection, table: str, column: str, default: str = "null") -> None:
    """Undo the addition of a column. Raises ``NeedsMigration`` if a row has a value other than the default, which is SQL."""
    if connection.execute(f"select 1 from {table} where {column} is distinct from {default} limit 1").fetchone():
        raise NeedsMigration(f"{table}.{column}")
    connection.execute(f"alter table {table} drop column {column}")


def _record(connection: duckdb.DuckDBPyConnection, schema: int) -> None:
    connection.execute("create or replace table schema_version as select $version::integer as version", {"version": schema})
