"""Removes what no version with possible readers needs: old catalogues, and objects that no catalogue names."""

from __future__ import annotations

from pathlib import Path

import duckdb

from clueline.data.duckdb_and_polars import literal
from clueline.data.store.files import StoreFiles
from clueline.data.store.run_files import Objects, StoredObject, all_objects

KEEP = 3  # catalogues left after a write: a reader may still be opening an earlier one


def sweep(files: StoreFiles, objects: Objects, current: str, upcoming: int) -> None:
    """Remove catalogues that no reader opens any more, and those from number ``upcoming`` on, which killed writers left.

    Call this only while holding the writers' lock. Now and then, objects that no catalogue names are removed, too. An old
    catalogue stays if an object that was written after it is damaged: it may be the last intact version. ``current`` is intact;
    it is blank before the first write.
    """
    files.sweep_drafts()
    catalogues = files.catalogues()
    old = [file.name for file in catalogues if file.number < upcoming - KEEP]
    kept = _last_intact(files, objects, current, [file.name for file in catalogues], old) if old else None
    for file in catalogues:
        if file.number >= upcoming or (file.name in old and file.name != kept):
            files.remove(file.name)
    try:
        objects.sweep(lambda: _named(files))
    except duckdb.Error:
        return  # a catalogue cannot be read: what it names is not known


def _last_intact(files: StoreFiles, objects: Objects, current: str, catalogues: list[str], old: list[str]) -> str | None:
    """If an object written since the oldest catalogue is damaged, return the newest catalogue that names no such object."""
    if current not in catalogues:
        return None
    with _connect() as connection:
        oldest = next((parts for name in old if (parts := _read(connection, files, name)) is not None), None)
        newest = _read(connection, files, current)
        if oldest is None or newest is None:
            return None
        damaged = {part.name for part, _ in objects.damages(newest - oldest)}
        if not damaged:
            return None
        for name in reversed(catalogues):
            parts = _read(connection, files, name)
            if parts is not None and damaged.isdisjoint(part.name for part in parts):
                return name
    return None


def _read(connection: duckdb.DuckDBPyConnection, files: StoreFiles, name: str) -> set[StoredObject] | None:
    """Return the objects that a catalogue names; None if it cannot be read or is from before there were objects."""
    try:
        return _objects_of(connection, files.path(name))
    except (duckdb.Error, FileNotFoundError):
        return None


def _named(files: StoreFiles) -> set[str]:
    catalogues = files.catalogues()
    if not catalogues:
        return set()
    with _connect() as connection:
        return {part.name for file in catalogues for part in _objects_of(connection, files.path(file.name)) or ()}


def _connect() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})


def _objects_of(connection: duckdb.DuckDBPyConnection, catalogue: Path) -> set[StoredObject] | None:
    connection.execute(f"attach {literal(catalogue)} as c (read_only); use c")
    try:
        if not connection.execute("select 1 from duckdb_tables() where table_name = 'objects'").fetchone():
            return None
        return set(all_objects(connection))
    finally:
        connection.execute("use memory; detach c")
