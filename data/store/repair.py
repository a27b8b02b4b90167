"""Finds the whole versions in a damaged store. Only ``GenerationStore.restore`` changes anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from data.store.errors import StoreError
from data.store.generations import GenerationStore


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


def damage_of(store: GenerationStore) -> StoreError | None:
    """Why the current version cannot be served; None for a whole or an empty store. Reads all of it."""
    try:
        path = store.generation()
    except StoreError as error:
        return error
    if path is None:
        return None
    damage = inspect_version(store, path).damage if path.exists() else "it is gone"
    return StoreError(f"The version in force, {path.name}, is damaged: {damage}") if damage else None


def versions_on_disk(store: GenerationStore) -> list[VersionOnDisk]:
    """Every version in the store's folder, newest first, whole or not. Reads all of them."""
    return [inspect_version(store, path) for path in reversed(store.generations())]


def inspect_version(store: GenerationStore, path: Path) -> VersionOnDisk:
    """Read every value of one version. DuckDB compares each block with its checksum.

    Args:
        store: the version belongs to it.
        path: one of ``store.generations()``.
    """
    stat = path.stat()
    written_at = datetime.fromtimestamp(stat.st_mtime, UTC)
    try:
        with store.open_generation(path.name) as connection:
            tables = [
                row[0] for row in connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
            ]
            for table in tables:
                connection.execute(f'select bit_xor(hash(t)) from "{table}" t').fetchall()
            counts = "select (select count(*) from datasets), (select count(*) from runs)"
            datasets, runs = connection.execute(counts).fetchall()[0]
    except (duckdb.Error, StoreError, OSError) as error:
        return VersionOnDisk(path.name, stat.st_size, written_at, damage=str(error).splitlines()[0])
    return VersionOnDisk(path.name, stat.st_size, written_at, datasets, runs)
