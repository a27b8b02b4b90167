"""Removes what no version of the store that may have readers needs: old catalogues, and objects that none of them names."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from data.polars_frames import literal
from data.store.objects import ObjectFolder
from data.store.register import FolderRegister, number_of

KEEP = 3  # catalogues left after a write: a reader may still be opening an earlier one


def sweep(register: FolderRegister, objects: ObjectFolder, upcoming: int) -> None:
    """Remove catalogues that no reader opens any more, and files that killed writers left from ``upcoming`` on.

    Only who holds the lock may call this. Now and then, objects that no catalogue names go, too.
    """
    for path in register.catalogues():
        if not upcoming - KEEP <= number_of(path) < upcoming:
            remove_catalogue(path)
    try:
        objects.sweep(lambda: {name for path in register.catalogues() for name in _names_of_objects(path)})
    except duckdb.Error:
        return  # a catalogue cannot be read: what it names is not known


def remove_catalogue(path: Path) -> None:
    """Remove a catalogue and the files that DuckDB puts beside it."""
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_name(path.name + ".tmp"), ignore_errors=True)


def _names_of_objects(catalogue: Path) -> list[str]:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(f"attach {literal(catalogue)} as c (read_only)")
        if not connection.execute("select 1 from duckdb_tables() where table_name = 'objects'").fetchone():
            return []  # from before there were objects
        return [name for (name,) in connection.execute("select name from c.objects").fetchall()]
