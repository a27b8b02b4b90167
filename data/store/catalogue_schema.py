"""The tables of a catalogue: created, checked, and read where they have the previous schema.

A catalogue is a small DuckDB file that holds everything in a store except the responses, grades and statistics of runs. While
hosts are upgraded one by one, the store keeps the previous schema. This version then reads migrated copies of its catalogues. The
copies are small, and are made once for each version of the store and each host.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from clueline.data.duckdb_and_polars import execute, literal
from clueline.data.store import migrations
from clueline.data.store.errors import OlderStore, OtherVersion, UnknownSchema
from clueline.data.store.files import DRAFT, FileState, file_state, make_folder, remove_database, restrict
from clueline.data.store.migrations import Step, can_serve_schema, current_schema, migrate, schema_of

SCHEMA = Path(__file__).parent / "schema.sql"
OF_MODELS = ("model_names", "model_facts", "distinct_models")  # tables that ``data.store.models`` alone reads and writes
STORAGE = "storage_version 'v1.4.0'"  # for new files: compresses texts faster and better than DuckDB's default


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty tables of a new store: those of ``schema.sql``, migrated to the current schema."""
    connection.execute("\n".join(_schema(migrations.steps()).tables))
    connection.execute(f"insert into schema_version values ({current_schema()})")


def check_schema(connection: duckdb.DuckDBPyConnection, place: str) -> None:
    """Raise ``OtherVersion`` if the tables of a store are not those of this version."""
    schema = schema_of(connection)
    if schema < migrations.FIRST:
        raise UnknownSchema(schema, migrations.FIRST)
    if schema < current_schema():
        raise OlderStore(f"the store in {place} was made by an earlier version of Clueline.")
    known = _schema(migrations.steps())
    # Columns can be in any order within a table. DuckDB lists the SQL of tables ten times as fast as their columns.
    if schema > current_schema() or (_tables(connection) != known.tables and _columns(connection) != known.columns):
        raise OtherVersion(
            f"the store in {place} was made by another version of Clueline; use that version, or start a new store in another "
            f"folder and import the data again (it has schema {schema}, and this version reads {migrations.FIRST} to "
            f"{current_schema()})"
        )


def tables_of_datasets(connection: duckdb.DuckDBPyConnection, database: str, *, of_models: bool = False) -> list[str]:
    """Return the names of the tables with a column ``dataset``, or of the views that replace them.

    Those ``of_models`` are left out unless asked for: changes of a dataset do not change its models.
    """
    sql = """
        select table_name from duckdb_tables() where database_name = $d and table_name <> 'schema_version'
        union all select view_name from duckdb_views() where database_name = $d and not internal order by 1"""
    tables = [table for (table,) in execute(connection, sql, {"d": database}).fetchall()]
    return [table for table in tables if of_models or table not in OF_MODELS]


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


@cache
def _schema(steps: tuple[Step, ...]) -> _Schema:
    """Return the schema that these migrations make of ``schema.sql``. They run once per process."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        migrate(connection, None)
        return _Schema(_tables(connection), _columns(connection))


KEEP = 6  # copies that are kept: processes may be about to open one


class UpgradedCatalogues:
    """Migrated copies of catalogues, in a folder of this host that its processes share, else in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[FileState, Path]] = {}

    def path(self, catalogue: Path) -> Path:
        """Return the path of a migrated copy if this version serves the schema of the catalogue without migrating the store.

        Otherwise, return the path of the catalogue itself. Whether it can be read turns out when it is opened. Raises ``OSError``
        if the copy cannot be written.
        """
        if migrations.steps()[-1].revert is None:
            return catalogue
        try:
            state = file_state(catalogue)
        except FileNotFoundError:
            return catalogue
        known = self._known.get(catalogue)
        if known is None or known[0] != state or not known[1].exists():
            known = (state, self._upgrade(catalogue, state) if self._is_served(catalogue) else catalogue)
            self._remember(catalogue, known)
        return known[1]

    def remember_current(self, catalogue: Path) -> None:
        """Remember that a catalogue that this process has just written has this version's schema."""
        with suppress(OSError):
            self._remember(catalogue, (file_state(catalogue), catalogue))

    def _remember(self, catalogue: Path, known: tuple[FileState, Path]) -> None:
        self._known = {**dict([*self._known.items()][-KEEP:]), catalogue: known}

    def _is_served(self, catalogue: Path) -> bool:
        try:
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                connection.execute(f"attach {literal(catalogue)} as c (read_only); use c")
                return can_serve_schema(schema_of(connection))
        except duckdb.Error:
            return False

    def _upgrade(self, catalogue: Path, state: FileState) -> Path:
        try:
            make_folder(self._folder)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except OSError:
            self._folder = Path(tempfile.mkdtemp(prefix="clueline-"))
        target = self._folder / f"{catalogue.stem}-{current_schema()}-{state[2]}.duckdb"
        if target.exists():
            return target
        draft = target.with_name(f"{target.name}-{secrets.token_hex(4)}{DRAFT}")
        try:
            shutil.copyfile(catalogue, draft)
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                connection.execute(f"attach {literal(draft)} as new (recovery_mode no_wal_writes, {STORAGE}); use new")
                migrate(connection, None)
                connection.execute("checkpoint new")
            restrict(draft)
            draft.replace(target)
        finally:
            remove_database(draft)
        copies = sorted(self._folder.glob("gen-*.duckdb"), key=lambda path: path.name)
        for copy in copies[:-KEEP]:
            with suppress(OSError):
                copy.unlink()
        return target
