"""Exports tables as files. DuckDB streams them to disk, so memory does not grow with their size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

import duckdb

from clueline.data.duckdb_and_polars import SqlParameters, literal
from clueline.data.store.cache_validity_tokens import states
from clueline.data.store.errors import DamagedStore, StoreError
from clueline.data.store.snapshot import Snapshot
from clueline.data.store.store import Store

Form = Literal["csv", "jsonl", "parquet"]
# DuckDB's options for one file. Several threads would each buffer many rows, to write them in order.
OPTIONS = {"threads": 1, "memory_limit": "256MB"}
FORMATS: dict[Form, str] = {
    "csv": "format csv, header",
    "jsonl": "format json",
    "parquet": "format parquet, compression zstd, row_group_size 20480",
}


@dataclass(frozen=True)
class Table:
    """A query over the tables of the store, and its parameters. For CSV, lists and maps must be JSON texts."""

    sql: str
    parameters: SqlParameters


class Exporter:
    """Writes tables of one version of the store to files."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def write(self, table: Table, form: Form, path: Path) -> None:
        """Write the rows of a query to a new file. Raises ``StoreError``."""
        try:
            self.snapshot.connection.execute(f"copy ({table.sql}) to {literal(path)} ({FORMATS[form]})", table.parameters)
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"the file needs more memory than is allowed ({error})") from error
        except duckdb.IOException as error:
            raise StoreError(f"the file cannot be written: {error}") from error

    def file(self, table: Table, form: Form) -> BinaryIO:
        """Return the rows of a query as an open file, whose disk space is freed when it is closed. Raises ``StoreError``."""
        try:
            with TemporaryDirectory(prefix="clueline-") as folder:
                path = Path(folder) / "table"
                self.write(table, form, path)
                return path.open("rb")
        except OSError as error:
            raise StoreError(f"the file cannot be written: {error}") from error


@contextmanager
def exporter(store: Store) -> Iterator[Exporter]:
    """Open the current version for export. Imports made meanwhile do not affect the files. Raises ``StoreError``."""
    try:
        folder = TemporaryDirectory(prefix="clueline-")
    except OSError as error:
        raise StoreError(f"the file cannot be written: {error}") from error
    with folder as spill:
        # The connection that pages read through is not allowed to write files.
        config = {**store.options, **OPTIONS, "temp_directory": spill}
        with duckdb.connect(":memory:", config=config) as connection:
            version = _attach(store, connection)
            yield Exporter(Snapshot(version, connection, states(connection), objects=store.objects))


def export(store: Store, table: Table, form: Form) -> BinaryIO:
    """Return the rows of a query over the current version as a file. See ``Exporter.file``."""
    with exporter(store) as opened:
        return opened.file(table, form)


def _attach(store: Store, connection: duckdb.DuckDBPyConnection) -> str:
    while True:
        pointer = store.latest()
        if not pointer.name:
            raise StoreError(f"the store in {store.place} is empty")
        try:
            connection.execute(f"attach {literal(store.catalogue_path(pointer))} as store (read_only); use store")
            return pointer.version
        except (DamagedStore, duckdb.IOException, OSError) as error:
            if store.latest() == pointer:
                if isinstance(error, DamagedStore):
                    raise
                raise StoreError(f"the store in {store.place} cannot be read: {error}") from error
            # Other processes wrote so often that this version was removed.
