"""Tables that leave the store as files: DuckDB writes them to disk as it reads them, so memory does not grow with their size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal

import duckdb

from data.frames import literal
from data.store.errors import StoreError
from data.store.generations import GenerationStore
from data.store.revisions import states
from data.store.snapshot import Snapshot

Form = Literal["csv", "jsonl", "parquet"]
# Of DuckDB while it writes one file. One thread: several would each hold many rows back, to write them in order.
MEANS = {"threads": 1, "memory_limit": "256MB"}
HOW: dict[Form, str] = {
    "csv": "format csv, header",
    "jsonl": "format json",
    "parquet": "format parquet, compression zstd, row_group_size 20480",
}


@dataclass(frozen=True)
class Table:
    """What is to go out: a query over the tables of the store, and its parameters. CSV takes no lists and maps: JSON text."""

    sql: str
    parameters: dict[str, Any]


class Exporter:
    """Writes tables of one version of the store to files.

    Attributes:
        snapshot: the version, for queries that say which tables to write.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def write(self, table: Table, form: Form, path: Path) -> None:
        """Write the rows of a query to a new file. Raises ``StoreError``."""
        try:
            self.snapshot.connection.execute(f"copy ({table.sql}) to {literal(path)} ({HOW[form]})", table.parameters)
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"the file needs more memory than it may have ({error})") from error
        except duckdb.IOException as error:
            raise StoreError(f"the file cannot be written: {error}") from error


@contextmanager
def exporter(store: GenerationStore) -> Iterator[Exporter]:
    """Open the version in force for export: all files written in the block come from it, whatever is imported meanwhile.

    Raises:
        StoreError: the store is empty or cannot be read.
    """
    with TemporaryDirectory(prefix="clueline-") as spill:
        # A connection of its own: the one that pages read through may not write files.
        config = {**store.options, **MEANS, "temp_directory": spill}
        with duckdb.connect(":memory:", config=config) as connection:
            version = _attach(store, connection)
            yield Exporter(Snapshot(version, connection, states(connection)))


def export(store: GenerationStore, table: Table, form: Form) -> BinaryIO:
    """The rows of a query as a file, open for reading; its place on the disk is free again once it is closed.

    Raises:
        StoreError: the store cannot be read or the disk for temporary files is full.
    """
    try:
        with exporter(store) as opened, TemporaryDirectory(prefix="clueline-") as folder:
            path = Path(folder) / "table"
            opened.write(table, form, path)
            return path.open("rb")
    except OSError as error:
        raise StoreError(f"the file cannot be written: {error}") from error


def _attach(store: GenerationStore, connection: duckdb.DuckDBPyConnection) -> str:
    """Attach the version in force; it stays readable when writers move on. Returns its name."""
    while True:
        version, generation = store.version(), store.generation()
        if generation is None:
            raise StoreError(f"the store in {store.folder} is empty")
        if store.version() != version:
            continue
        try:
            connection.execute(f"attach {literal(generation)} as store (read_only); use store")
            return version
        except duckdb.IOException as error:
            if store.generation() == generation:
                raise StoreError(f"the store in {store.folder} cannot be read: {error}") from error
            # Writers have moved on so far that the version we began with is gone.
