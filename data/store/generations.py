"""The store as a folder of immutable DuckDB files, its generations, and a pointer to the current one.

DuckDB lets either one process write or many read. So no file that may have readers is ever written to: a write copies the
current generation, changes the copy, makes it durable, and then moves the pointer ``CURRENT`` in one atomic rename. Readers
check the pointer and open the new file when it has moved.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from data.polars_frames import literal
from data.statistics import TABLE
from data.store.errors import DamagedStore, OlderStore, StoreError, StoreMoved, UnreadableStore
from data.store.memory import CAPACITY, Memory
from data.store.migrations import current_schema, migrate, schema_of
from data.store.revisions import renew, states
from data.store.snapshot import Snapshot

SCHEMA = Path(__file__).parent / "schema.sql"
KEEP = 3  # generations left on disk after a write: a reader may still be opening an earlier one
STORAGE = "storage_version 'v1.4.0'"  # of new files: compresses texts faster and better than DuckDB's default
GENERATION = re.compile(r"gen-\d{6,}\.duckdb")
NO_GENERATION = "none"  # what CURRENT names while the first write is under way
T = TypeVar("T")


def open_store(
    url: str | Path, *, threads: int | None = None, memory_limit: str | None = None, capacity: int = CAPACITY
) -> GenerationStore:
    """Open the store in the folder ``url``; the folder is made at the first write.

    Args:
        url: path of a folder.
        threads: DuckDB threads of this process; all cores by default.
        memory_limit: DuckDB's memory in this process, such as ``1GB``; 80 % of the machine by default.
        capacity: bytes that snapshots may keep in memory (``data.store.memory``).

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
    return GenerationStore(Path(url), options, capacity)


class GenerationStore:
    """A folder of generations, such as ``gen-000042.duckdb``.

    The file ``CURRENT`` holds the name of the current generation and a token that never repeats.
    """

    def __init__(self, folder: Path, options: dict[str, Any], capacity: int = CAPACITY) -> None:
        self.folder = folder.expanduser().absolute()
        self.options = options
        self._lock = threading.Lock()
        self._opened: Snapshot | None = None
        self._memory = Memory(capacity)
        self._has_been_written = False

    def _pointer(self) -> tuple[str, str]:
        """Name of the current file, and the version; ("", "0") before the first write.

        Raises:
            DamagedStore: the pointer is lost or cannot be read, in a folder that holds data.
            StoreError: the system does not allow it to be read.
        """
        path = self.folder / "CURRENT"
        try:
            name, token = path.read_text(encoding="ascii").split()
        except (FileNotFoundError, NotADirectoryError):
            if self._has_been_written and not self.folder.exists():
                raise DamagedStore("its folder is gone") from None
            if self._has_been_written or self.generations():
                raise DamagedStore("the file CURRENT, which names the version in force, is gone") from None
            return "", "0"
        except ValueError:
            raise DamagedStore("the file CURRENT does not name a version") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if name == NO_GENERATION:
            return "", "0"
        if not GENERATION.fullmatch(name):
            raise DamagedStore("the file CURRENT does not name a version")
        self._has_been_written = True
        return name, f"{_number(Path(name))}-{token}"

    def generations(self) -> list[Path]:
        """The files in the folder that are generations by their name, oldest first."""
        return sorted((path for path in self.folder.glob("gen-*.duckdb") if GENERATION.fullmatch(path.name)), key=_number)

    def version(self) -> str:
        """Name of the current version; never reused, so that it can key a cache."""
        return self._pointer()[1]

    def generation(self) -> Path | None:
        """Path of the current generation; None before the first write."""
        name, _ = self._pointer()
        return self.folder / name if name else None

    def snapshot(self) -> Snapshot:
        """A cursor on the current version. Cheap when the version has not changed since the last call."""
        with self._lock:
            for attempt in range(5):
                name, version = self._pointer()
                if self._opened is None or self._opened.version != version:
                    try:
                        connection = self.open_generation(name)
                    except (duckdb.Error, FileNotFoundError) as error:
                        # Between reading the pointer and opening the file, writers may have added several generations.
                        if attempt < 4 and self._pointer()[1] != version:
                            continue
                        raise _cannot_open(name, error) from error
                    # The old connection is not closed: it lives as long as the cursors of other threads on it.
                    self._opened = Snapshot(version, connection, states(connection), self._memory)
                    self._memory.retain((dataset, state.base) for dataset, state in self._opened.states.items())
                return replace(self._opened, connection=self._opened.connection.cursor())
        raise StoreError(f"the store in {self.folder} changes faster than it can be opened")

    def close(self) -> None:
        """Close the open generation. DuckDB's threads must end before the process does."""
        with self._lock:
            if self._opened is not None:
                self._opened.connection.close()
                self._opened = None

    def open_generation(self, name: str) -> duckdb.DuckDBPyConnection:
        """A read-only connection to a generation, or to an empty store if ``name`` is blank.

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
        self._check_schema(connection)
        return connection

    def _connect(self, path: Path) -> duckdb.DuckDBPyConnection:
        # The limits are set afterwards: DuckDB refuses a second connection of one process that is configured otherwise.
        connection = duckdb.connect(str(path), read_only=True, config={"enable_external_access": False})
        for name, value in self.options.items():
            connection.execute(f"set {name} = {literal(value)}")
        return connection

    def _check_schema(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Raise ``StoreError`` for a store whose tables are not those of this version."""
        if schema_of(connection) < current_schema():
            raise OlderStore(f"the store in {self.folder} was made by an earlier version of Clueline.")
        if schema_of(connection) > current_schema() or _columns(connection) != _columns_of_schema(current_schema()):
            raise StoreError(
                f"the store in {self.folder} was made by another version of Clueline; use that version, "
                "or give another folder and import the data again"
            )

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T], *, expect: str | None = None) -> T:
        """Apply ``change`` to a copy of the current generation and make the copy current.

        Args:
            change: called with a connection, in a transaction. If it raises, the store is unchanged.
            expect: version that must be the current one.

        Returns:
            What ``change`` returns.

        Raises:
            StoreMoved: the current version is not ``expect``.
            StoreError: the store is damaged or cannot be written.
        """
        self._pointer()  # raises for a damaged store
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                if expect is not None and self.version() != expect:
                    raise StoreMoved
                return self._next_generation(change)
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def migrate(self) -> tuple[int, int]:
        """Bring a store that an earlier version made to the schema of this one, as a new generation.

        Returns:
            The schema that the store had, and the one that it has. They are equal if there was nothing to do.

        Raises:
            StoreError: the store is damaged, cannot be written, or was made by a later version.
        """

        def change(connection: duckdb.DuckDBPyConnection) -> int:
            schema = schema_of(connection)
            migrate(connection)
            self._check_schema(connection)
            datasets = [row[0] for row in connection.execute("select dataset from datasets").fetchall()]
            renew(connection, datasets, bases=datasets)
            return schema

        generation = self.generation()
        if generation is None:
            return current_schema(), current_schema()
        try:
            with self._locked():
                path = self.generation() or generation
                if not path.exists():
                    raise DamagedStore(f"the version in force, {path.name}, is gone")
                with self._connect(path) as connection:
                    schema = schema_of(connection)
                    if schema >= current_schema():
                        self._check_schema(connection)
                        return schema, schema
                return self._next_generation(change, checked=False), current_schema()
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def _next_generation(self, change: Callable[[duckdb.DuckDBPyConnection], T], *, checked: bool = True) -> T:
        name, _ = self._pointer()
        number = _number(Path(name)) + 1 if name else 1
        if not name:
            self._point(NO_GENERATION)  # if this process is killed, the file below must not look like a lost pointer
        elif not (self.folder / name).exists():
            raise DamagedStore(f"the version in force, {name}, is gone")
        new = self.folder / f"gen-{number:06d}.duckdb"
        self._clean(number)
        _remove(new)  # a log without its file would be replayed into the new one
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
                    self._check_schema(connection)
                connection.execute("begin")
                result = change(connection)
                try:
                    connection.execute("commit")
                    connection.execute("checkpoint new")
                except duckdb.Error as error:  # here DuckDB reports a full disk as a failed transaction
                    raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error
            finally:
                connection.close()
            _sync(new)
            self._point(new.name)
        except BaseException:
            _remove(new)
            raise
        self._clean(number + 1)
        return result

    def restore(self, name: str) -> None:
        """Make a generation current again, in the place of a lost or damaged one. No file is deleted.

        Args:
            name: of one of ``generations``.
        """
        try:
            with self._locked():
                self._point(name)
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def adopt(self, path: Path) -> None:
        """Make a copy of another store's generation the current one. No file is deleted.

        Args:
            path: of a whole generation.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                known = self.generations()
                number = _number(known[-1]) + 1 if known else 1
                if not known and not (self.folder / "CURRENT").exists():
                    self._point(NO_GENERATION)  # if this process is killed, the file below must not look like a lost pointer
                new = self.folder / f"gen-{number:06d}.duckdb"
                try:
                    shutil.copyfile(path, new)
                    _sync(new)
                    self._point(new.name)
                except BaseException:
                    _remove(new)
                    raise
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def _clean(self, upcoming: int) -> None:
        """Remove generations that no reader opens any more, and files that killed writers left from ``upcoming`` on."""
        for path in self.generations():
            if not upcoming - KEEP <= _number(path) < upcoming:
                _remove(path)

    def _point(self, name: str) -> None:
        draft = self.folder / "CURRENT.tmp"
        draft.write_text(f"{name} {secrets.token_hex(4)}\n", encoding="ascii")
        _sync(draft)
        draft.replace(self.folder / "CURRENT")
        _sync(self.folder)

    @contextmanager
    def _locked(self, patience: float = 900.0) -> Iterator[None]:
        """Hold the writers' lock. The system frees it if this process dies."""
        with (self.folder / "LOCK").open("a") as handle:
            until = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise StoreError("another import has held the store for 15 minutes; try again when it is done") from None
                    time.sleep(0.05)
            yield


def _cannot_open(name: str, error: Exception) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return DamagedStore(f"the version in force, {name}, is gone")
    return UnreadableStore(f"the version in force, {name}, cannot be opened ({error}).")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the empty tables of a new store: those of ``schema.sql`` and of the statistics, brought to the current schema."""
    connection.execute(SCHEMA.read_text(encoding="utf-8"))
    connection.execute(TABLE)
    migrate(connection)


def _columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return connection.execute("""
        select table_name, column_name, data_type from duckdb_columns()
        where database_name = current_database() and not internal and table_name <> 'schema_version'
        order by table_name, column_name""").fetchall()


@cache
def _columns_of_schema(schema: int) -> list[tuple[Any, ...]]:
    with duckdb.connect(config={"threads": 1}) as connection:
        create_schema(connection)
        return _columns(connection)


def _number(path: Path) -> int:
    """42 for gen-000042.duckdb."""
    return int(path.stem.removeprefix("gen-"))


def _remove(path: Path) -> None:
    """Remove a generation and the files that DuckDB puts beside it."""
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_name(path.name + ".tmp"), ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
