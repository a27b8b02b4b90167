"""Creates and checks the tables of a catalogue.

A catalogue is a small DuckDB file that holds everything in a store except the responses, grades and statistics of runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from data.duckdb_and_polars import execute
from data.store import migrations
from data.store.errors import OlderStore, StoreError, UnknownSchema
from data.store.migrations import Step, current_schema, migrate, schema_of

SCHEMA = Path(__file__).parent / "schema.sql"
STORAGE = "storage_version 'v1.4.0'"  # for new files: compresses texts faster and better than DuckDB's default


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty tables of a new store: those of ``schema.sql``, migrated to the current schema."""
    connection.execute("\n".join(_schema(migrations.steps()).tables))
    connection.execute(f"insert into schema_version values ({current_schema()})")


def check_schema(connection: duckdb.DuckDBPyConnection, place: str) -> None:
    """Raise ``StoreError`` if the tables of a store are not those of this version."""
    schema = schema_of(connection)
    if schema < migrations.FIRST:
        raise UnknownSchema(schema, migrations.FIRST)
    if schema < current_schema():
        raise OlderStore(f"the store in {place} was made by an earlier version of Clueline.")
    if schema > current_schema() or not _has_tables_of(_schema(migrations.steps()), connection):
        raise StoreError(
            f"the store in {place} was made by another version of Clueline; use that version, "
            "or give another folder and import the data again"
        )


def tables_of_datasets(connection: duckdb.DuckDBPyConnection, database: str) -> list[str]:
    """Return the names of a catalogue's tables, or of the views that replace them. All have a column ``dataset``."""
    sql = """
        select table_name from duckdb_tables() where database_name = $d and table_name <> 'schema_version'
        union all select view_name from duckdb_views() where database_name = $d and not internal order by 1"""
    return [table for (table,) in execute(connection, sql, {"d": database}).fetchall()]


def _columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return connection.execute("""
        select table_name, column_name, data_type from duckdb_columns()
        where database_name = current_database() and not internal and table_name <> 'schema_version'
        order by table_name, column_name""").fetchall()


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    tables = "select sql from duckdb_tables() where database_name = current_database() and not internal order by table_name"
    return [sql for (sql,) in connection.execute(tables).fetchall()]


class _Schema(NamedTuple):
    tables: list[str]
    columns: list[tuple[Any, ...]]


def _has_tables_of(schema: _Schema, connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a catalogue has the columns of a schema, in any order within a table."""
    # DuckDB lists the SQL of tables ten times as fast as their columns.
    return _tables(connection) == schema.tables or _columns(connection) == schema.columns


@cache
def _schema(steps: tuple[Step, ...]) -> _Schema:
    """Return the schema that these migrations make of ``schema.sql``. They run once per process."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        migrate(connection, None)
        return _Schema(_tables(connection), _columns(connection))
