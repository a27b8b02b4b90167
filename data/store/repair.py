"""Finds the whole versions in a damaged store. Only ``Store.restore`` changes anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb

from data.store.errors import DamagedStore, StoreError
from data.store.objects import all_objects
from data.store.store import Store


@dataclass(frozen=True)
class VersionOnDisk:
    """A version of the store in its folder.

    Attributes:
        name: of its file.
        size: in bytes.
        written_at: when it was written, UTC.
        datasets, runs: how many it holds; None if it is damaged.
        damage: why it cannot be served; None if it is whole.
    """

    name: str
    size: int
    written_at: datetime
    datasets: int | None = None
    runs: int | None = None
    damage: str | None = None


def damage_of(store: Store) -> StoreError | None:
    """Why the current version cannot be served; None for a whole or an empty store. Reads all of it."""
    try:
        name = store.pointer().name
    except StoreError as error:
        return error
    if not name:
        return None
    damage = inspect_version(store, name).damage if store.files.exists(name) else "it is gone"
    return StoreError(f"The version in force, {name}, is damaged: {damage}") if damage else None


def versions_on_disk(store: Store) -> list[VersionOnDisk]:
    """Every version in the store's folder, newest first, whole or not. Reads all of them."""
    return [inspect_version(store, file.name) for file in reversed(store.catalogues())]


def inspect_version(store: Store, name: str) -> VersionOnDisk:
    """Read every value of one version. DuckDB compares each block with its checksum, and we compare the files of runs.

    Args:
        store: the version belongs to it.
        name: of one of ``store.catalogues()``.

    Raises:
        FileNotFoundError: there is no such file.
    """
    file = next((file for file in store.catalogues() if file.name == name), None)
    if file is None:
        raise FileNotFoundError(name)
    try:
        with store.open_catalogue(name) as connection:
            tables = [
                row[0] for row in connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
            ]
            for table in tables:
                connection.execute(f'select bit_xor(hash(t)) from "{table}" t').fetchall()
            counts = "select (select count(*) from datasets), (select count(*) from runs)"
            store.objects.check(all_objects(connection), again=True)
            datasets, runs = connection.execute(counts).fetchall()[0]
    except (duckdb.Error, StoreError, OSError) as error:
        reason = error.reason if isinstance(error, DamagedStore) else str(error).splitlines()[0]
        return VersionOnDisk(*file, damage=reason)
    return VersionOnDisk(*file, datasets, runs)
