"""The store: a folder of catalogues, of which one is in force, and of the objects that they name.

DuckDB lets either one process write or many read. So no file that may have readers is ever written to. A write copies the
catalogue in force, which is small, changes the copy, makes it durable, and then moves the pointer in one atomic rename. The
responses and statistics of runs are objects, written before and never changed. Readers check the pointer and open the new
catalogue when it has moved.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from data.polars_frames import literal
from data.store.catalogue import STORAGE, check_schema, create_schema
from data.store.durable import sync
from data.store.errors import DamagedStore, StoreError, UnreadableStore
from data.store.migrations import current_schema, migrate, schema_of
from data.store.objects import ObjectFolder, all_objects
from data.store.register import NO_CATALOGUE, FolderRegister, number_of
from data.store.revisions import renew, states
from data.store.run_cache import CAPACITY, RunCache
from data.store.snapshot import Snapshot
from data.store.sweep import remove_catalogue, sweep

T = TypeVar("T")
CONNECTING = threading.Lock()  # connections to one file share settings, of which some cannot be made twice


def open_store(
    url: str | Path, *, threads: int | None = None, memory_limit: str | None = None, capacity: int = CAPACITY
) -> Store:
    """Open the store in the folder ``url``; the folder is made at the first write.

    Args:
        url: path of a folder.
        threads: DuckDB threads of this process; all cores by default.
        memory_limit: DuckDB's memory in this process, such as ``1GB``; 80 % of the machine by default.
        capacity: bytes that snapshots may keep in memory (``data.store.run_cache``).

    Raises:
        StoreError: ``url`` is an address and not a path.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:", str(url)):
        raise StoreError(f"{url}: only a folder can be a store; give a path")
    options: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if threads:
        options["threads"] = threads
    if memory_limit:
        options["memory_limit"] = memory_limit
    return Store(Path(url), options, capacity)


class Store:
    """A folder of catalogues, such as ``gen-000042.duckdb``, and of objects.

    Attributes:
        folder: where it is.
        options: DuckDB's settings in this process.
        register: which catalogue is in force.
        objects: the responses and statistics of runs.
    """

    def __init__(self, folder: Path, options: dict[str, Any], capacity: int = CAPACITY) -> None:
        self.folder = folder.expanduser().absolute()
        self.options = options
        self.register = FolderRegister(self.folder)
        self.objects = ObjectFolder(self.folder / "objects")
        self._lock = threading.Lock()
        self._opened: Snapshot | None = None
        self._run_cache = RunCache(capacity)

    def catalogues(self) -> list[Path]:
        """The catalogues in the folder, oldest first."""
        return self.register.catalogues()

    def version(self) -> str:
        """Name of the current version; never reused, so that it can key a cache."""
        return self.register.read().version

    def catalogue(self) -> Path | None:
        """Path of the current catalogue; None before the first write."""
        name = self.register.read().name
        return self.folder / name if name else None

    def snapshot(self) -> Snapshot:
        """A cursor on the current version. Cheap when the version has not changed since the last call."""
        with self._lock:
            for attempt in range(5):
                name, version = self.register.read()
                if self._opened is None or self._opened.version != version:
                    try:
                        connection = self.open_catalogue(name)
                    except (duckdb.Error, FileNotFoundError) as error:
                        # Between reading the pointer and opening the file, writers may have added several catalogues.
                        if attempt < 4 and self.version() != version:
                            continue
                        raise _cannot_open(name, error) from error
                    # The old connection is not closed: it lives as long as the cursors of other threads on it.
                    self._opened = Snapshot(version, connection, states(connection), self._run_cache, self.objects)
                    self._run_cache.retain((dataset, state.base) for dataset, state in self._opened.states.items())
                return replace(self._opened, connection=self._opened.connection.cursor())
        raise StoreError(f"the store in {self.folder} changes faster than it can be opened")

    def close(self) -> None:
        """Close the open catalogue. DuckDB's threads must end before the process does."""
        with self._lock:
            if self._opened is not None:
                self._opened.connection.close()
                self._opened = None

    def open_catalogue(self, name: str) -> duckdb.DuckDBPyConnection:
        """A read-only connection to a catalogue, or to an empty store if ``name`` is blank.

        Raises:
            FileNotFoundError: there is no such file.
            StoreError: it was made by another version of Clueline.
        """
        if not name:
            connection = duckdb.connect(":memory:", config=self.options)
            create_schema(connection)
            return connection
        path = self.folder / name
        if not path.exists():
            raise FileNotFoundError(path.name)
        connection = self._connect(path)
        check_schema(connection, self.folder)
        return connection

    def _connect(self, path: Path) -> duckdb.DuckDBPyConnection:
        # Settings are made afterwards: DuckDB refuses a second connection of one process that is configured otherwise.
        with CONNECTING:
            connection = duckdb.connect(str(path), read_only=True)
            for name, value in self.options.items():
                connection.execute(f"set {name} = {literal(value)}")
            if connection.execute("select current_setting('enable_external_access')").fetchall()[0][0]:
                connection.execute(f"set allowed_directories = [{literal(self.objects.root)}]")
                connection.execute("set enable_external_access = false")
        connection.execute("set parquet_metadata_cache = true")  # objects never change
        return connection

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Apply ``change`` to a copy of the current catalogue and make the copy current.

        Args:
            change: called with a connection, in a transaction. If it raises, the store is unchanged.

        Returns:
            What ``change`` returns.

        Raises:
            StoreError: the store is damaged or cannot be written.
        """
        self.register.read()  # raises for a damaged store
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.register.locked():
                return self._next_catalogue(change)
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def migrate(self) -> tuple[int, int]:
        """Bring a store that an earlier version made to the schema of this one, as a new catalogue.

        Returns:
            The schema that the store had, and the one that it has. They are equal if there was nothing to do.

        Raises:
            StoreError: the store is damaged, cannot be written, or was made by a later version.
        """

        def change(connection: duckdb.DuckDBPyConnection) -> int:
            schema = schema_of(connection)
            migrate(connection, self.objects)
            check_schema(connection, self.folder)
            datasets = [row[0] for row in connection.execute("select dataset from datasets").fetchall()]
            renew(connection, datasets, bases=datasets)
            return schema

        catalogue = self.catalogue()
        if catalogue is None:
            return current_schema(), current_schema()
        try:
            with self.register.locked():
                path = self.catalogue() or catalogue
                if not path.exists():
                    raise DamagedStore(f"the version in force, {path.name}, is gone")
                with self._connect(path) as connection:
                    schema = schema_of(connection)
                    if schema >= current_schema():
                        check_schema(connection, self.folder)
                        return schema, schema
                return self._next_catalogue(change, checked=False), current_schema()
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def _next_catalogue(self, change: Callable[[duckdb.DuckDBPyConnection], T], *, checked: bool = True) -> T:
        name = self.register.read().name
        number = number_of(Path(name)) + 1 if name else 1
        if not name:
            self.register.point(NO_CATALOGUE)  # if this process is killed, the file below must not look like a lost pointer
        elif not (self.folder / name).exists():
            raise DamagedStore(f"the version in force, {name}, is gone")
        new = self.folder / f"gen-{number:06d}.duckdb"
        sweep(self.register, self.objects, number)
        remove_catalogue(new)  # a log without its file would be replayed into the new one
        try:
            if name:
                shutil.copyfile(self.folder / name, new)
            # No reader opens this file before it is complete, so it needs no write-ahead log.
            connection = duckdb.connect(":memory:", config={**self.options, "temp_directory": f"{new}.tmp"})
            try:
                connection.execute(f"attach {literal(new)} as new (recovery_mode no_wal_writes, {STORAGE}); use new")
                if not name:
                    create_schema(connection)
                if checked:
                    check_schema(connection, self.folder)
                connection.execute("begin")
                result = change(connection)
                try:
                    connection.execute("commit")
                    connection.execute("checkpoint new")
                except duckdb.Error as error:  # here DuckDB reports a full disk as a failed transaction
                    raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error
            finally:
                connection.close()
            sync(new)
            self.register.point(new.name)
        except BaseException:
            if self.register.read().name != new.name:  # the pointer may have moved before something else failed
                remove_catalogue(new)
            raise
        with suppress(OSError):  # what was published is published, even if nothing can be cleaned
            sweep(self.register, self.objects, number + 1)
        return result

    def discard(self, names: Sequence[str]) -> None:
        """Remove objects that a failed import added, but not those that the version in force names.

        The import may have failed after it was published. What cannot be decided now is left to the sweep.
        """
        try:
            with self.snapshot().connection as connection:
                named = {part.name for part in all_objects(connection)}
        except (StoreError, duckdb.Error):
            return
        for name in names:
            if name not in named:
                self.objects.remove(name)

    def restore(self, name: str) -> None:
        """Make a catalogue current again, in the place of a lost or damaged one. No file is deleted.

        Args:
            name: of one of ``catalogues``.
        """
        try:
            with self.register.locked():
                self.register.point(name)
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def adopt(self, source: Store, catalogue: Path) -> None:
        """Make a copy of a version of another store the current one. No file is deleted.

        Args:
            source: the other store.
            catalogue: a whole one of its catalogues.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with source.open_catalogue(catalogue.name) as connection:
                parts = all_objects(connection)
            for part in parts:
                self.objects.copy(source.objects, part)
            with self.register.locked():
                known = self.catalogues()
                number = number_of(known[-1]) + 1 if known else 1
                if not known and not (self.folder / "CURRENT").exists():
                    self.register.point(NO_CATALOGUE)  # see above
                new = self.folder / f"gen-{number:06d}.duckdb"
                try:
                    shutil.copyfile(catalogue, new)
                    sync(new)
                    self.register.point(new.name)
                except BaseException:
                    remove_catalogue(new)
                    raise
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error


def _cannot_open(name: str, error: Exception) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return DamagedStore(f"the version in force, {name}, is gone")
    return UnreadableStore(f"the version in force, {name}, cannot be opened ({error}).")
