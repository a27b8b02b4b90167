"""Finds damage in a store and repairs it. Only ``repair_objects`` and ``Store.restore`` change anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from clueline.data.store import difficulty, gradings, run_statistics
from clueline.data.store.audit import new_event
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.errors import DamagedStore, OtherVersion, StoreError
from clueline.data.store.run_files import Objects, StoredObject, all_objects, damaged_object
from clueline.data.store.store import Store


@dataclass(frozen=True)
class VersionOnDisk:
    """A version of the store in its folder. Numbers are None if its catalogue is damaged; times are UTC.

    ``damage`` says why it cannot be served; None if it is intact. Each damaged object comes with what is wrong.
    ``other_version`` is set if nothing is damaged, but another version of Clueline made it.
    """

    name: str
    size: int
    written_at: datetime
    datasets: int | None = None
    runs: int | None = None
    damage: str | None = None
    damaged_objects: tuple[tuple[StoredObject, str], ...] = ()
    other_version: OtherVersion | None = None

    @property
    def readable(self) -> bool:
        """Whether the catalogue is intact, so that at most some runs are damaged."""
        return self.datasets is not None


@dataclass(frozen=True)
class LostRun:
    """A run whose responses are damaged: its file must be imported again."""

    run: str
    dataset: str
    model: str
    elicitation: str
    file_name: str | None


def damage_of(store: Store) -> StoreError | None:
    """Return why the current version cannot be served; None if it is intact or the store is empty. Reads all of it."""
    try:
        name = store.pointer().name
        store.catalogue()
    except StoreError as error:
        return error
    if not name:
        return None
    try:
        version = inspect_version(store, name)
        if version.other_version:
            return version.other_version
        damage = version.damage
    except FileNotFoundError:
        damage = "it is gone"
    return StoreError(f"The version in force, {name}, is damaged: {damage}") if damage else None


def versions_on_disk(store: Store) -> list[VersionOnDisk]:
    """Return every version in the store's folder, newest first, intact or not. Reads all of them, and each object once."""
    objects = Objects(store.files)
    return [inspect_version(store, file.name, objects) for file in reversed(store.catalogues())]


def inspect_version(store: Store, name: str, objects: Objects | None = None, *, earlier: bool = False) -> VersionOnDisk:
    """Read every value of a catalogue. DuckDB compares each block with its checksum, and we compare the files of runs.

    ``objects`` remember the files in a folder that they compared before; by default, all are compared. ``earlier`` says that an
    earlier version may have made the catalogue, which is then read as it is.
    """
    file = next((file for file in store.catalogues() if file.name == name), None)
    if file is None:
        raise FileNotFoundError(name)
    try:
        store.files.renew_copy(name)
        with store.open_earlier_catalogue(name) if earlier else store.open_catalogue(name) as connection:
            tables = [
                row[0] for row in connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
            ]
            for table in tables:
                connection.execute(f'select bit_xor(hash(t)) from "{table}" t').fetchall()
            counts = "select (select count(*) from datasets), (select count(*) from runs)"
            datasets, runs = connection.execute(counts).fetchall()[0]
            # For files in S3, it is not enough to compare the copies that this host has.
            again = objects is None or store.files.copied
            damaged = tuple((objects or store.objects).damages(all_objects(connection), again=again))
    except (duckdb.Error, StoreError, OSError) as error:
        reason = error.reason if isinstance(error, DamagedStore) else str(error).splitlines()[0]
        return VersionOnDisk(*file, damage=reason, other_version=error if isinstance(error, OtherVersion) else None)
    damage = damaged_object(*damaged[0]).reason if damaged else None
    return VersionOnDisk(*file, datasets, runs, damage, damaged)


def repair_objects(store: Store, damaged: Sequence[tuple[StoredObject, str]]) -> list[LostRun]:
    """Write a version without damaged objects, and return the runs that were removed.

    Statistics are recomputed from the responses. Runs whose responses are damaged are removed from the catalogue, so that their
    files can be imported again. Gradings whose grades are damaged are removed, too. The corrections of reviewers are rows of the
    catalogue: none is lost, and the grading ``reviewed`` is recomputed from them. Nothing else in the store changes. Raises
    ``StoreError``.
    """
    lost = _runs_without_responses(damaged)
    computed = {(part.dataset, part.run) for part, _ in damaged if part.run not in lost}
    with store.adding_objects() as objects:

        def change(connection: duckdb.DuckDBPyConnection) -> list[LostRun]:
            runs = lost_runs(connection, damaged)
            for table in ("runs", "objects", "gradings", "response_attributes"):
                connection.execute(f"delete from {table} where list_contains($lost, run)", {"lost": lost})
            for part, _ in damaged:
                if part.kind.startswith("grades."):
                    gradings.remove_grading(connection, part.run, part.kind.removeprefix("grades."))
            gradings.review(connection, objects, sorted(run for _, run in computed))
            datasets = sorted({part.dataset for part, _ in damaged})
            for dataset in datasets:
                run_statistics.derive(connection, objects, dataset, [run for owner, run in sorted(computed) if owner == dataset])
                difficulty.derive_accuracies(connection, objects, dataset)
                difficulty.derive(connection, dataset)
            renew_revisions(connection, datasets, bases=datasets)
            return runs

        return store.write(change, lambda _: [new_event("repaired", None)])


def lost_runs(connection: duckdb.DuckDBPyConnection, damaged: Sequence[tuple[StoredObject, str]]) -> list[LostRun]:
    """Return the runs of a version whose responses are damaged."""
    sql = "select run, dataset, model, elicitation, file_name from runs where list_contains($lost, run) order by position"
    return [LostRun(*row) for row in connection.execute(sql, {"lost": _runs_without_responses(damaged)}).fetchall()]


def _runs_without_responses(damaged: Sequence[tuple[StoredObject, str]]) -> list[str]:
    return sorted({part.run for part, _ in damaged if part.kind == "responses"})
