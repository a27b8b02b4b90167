"""Removes what no version of the store that may have readers needs: old catalogues, and objects that none of them names."""

from __future__ import annotations

from pathlib import Path

import duckdb

from data.polars_frames import literal
from data.store.files import StoreFiles
from data.store.objects import Objects

KEEP = 3  # catalogues left after a write: a reader may still be opening an earlier one


def sweep(files: StoreFiles, objects: Objects, upcoming: int) -> None:
    """Remove catalogues that no reader opens any more, and files that killed writers left from ``upcoming`` on.

    Only who holds the lock may call this. Now and then, objects that no catalogue names go, too.
    """
    files.sweep_drafts()
    for file in files.catalogues():
        if not upcoming - KEEP <= file.number < upcoming:
            files.remove(file.name)
    try:
        objects.sweep(lambda: {name for file in files.catalogues() for name in _names_of_objects(files.path(file.name))})
    except duckdb.Error:
        return  # a catalogue cannot be read: what it names is not known


def _names_of_objects(catalogue: Path) -> list[str]:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(f"attach {literal(catalogue)} as c (read_only)")
        if not connection.execute("select 1 from duckdb_tables() where table_name = 'objects'").fetchone():
            return []  # from before there were objects
        return [name for (name,) in connection.execute("select name from c.objects").fetchall()]
