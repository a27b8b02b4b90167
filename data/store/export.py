"""Tables that go out as files: DuckDB writes them to disk as it reads them, so that memory does not grow with their size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal

import duckdb

from data.frames import literal
from data.store.generations import GenerationStore, StoreError

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


def export(store: GenerationStore, table: Table, form: Form) -> BinaryIO:
    """The rows of a query as a file, open for reading; its place on the disk is free again once it is closed.

    Raises:
        StoreError: the store cannot be read or the disk for temporary files is full.
    """
    while True:
        generation = store.generation()
        if generation is None:
            raise StoreError(f"the store in {store.folder} is empty")
        try:
            with TemporaryDirectory(prefix="clueline-") as folder:
                path = Path(folder) / "table"
                _copy(store, generation, table, form, path, Path(folder) / "spill")
                return path.open("rb")
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"the file needs more memory than it may have ({error})") from error
        except (duckdb.IOException, OSError) as error:
            if not generation.exists() and store.generation() != generation:
                continue  # writers have moved on so far that the version we began with is gone
            raise StoreError(f"the file cannot be written: {error}") from error


def _copy(store: GenerationStore, generation: Path, table: Table, form: Form, path: Path, spill: Path) -> None:
    # A connection of its own: the one that pages read through may not write files.
    config = {**store.options, **MEANS, "temp_directory": str(spill)}
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"attach {literal(generation)} as store (read_only); use store")
        connection.execute(f"copy ({table.sql}) to {literal(path)} ({HOW[form]})", table.parameters)
