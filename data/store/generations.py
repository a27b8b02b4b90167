"""The store: immutable DuckDB generations in one folder, and a pointer to the one in force.

DuckDB lets one process write or many read, never both. So nothing is ever written to a file that somebody reads: a write
copies the current generation, changes the copy, makes it durable and then moves the pointer ``CURRENT``, in one atomic
rename. Readers look at the pointer and open the new file when it has moved.
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

from data.frames import literal
from data.statistics import TABLE
from data.store.errors import DamagedStore, StoreError, StoreMoved
from data.store.memory import ROOM, Memory
from data.store.revisions import states
from data.store.snapshot import Snapshot

SCHEMA = Path(__file__).parent / "schema.sql"
KEEP = 3  # generations left on disk after a write: a reader may still be opening the one before
STORAGE = "storage_version 'v1.4.0'"  # of new files: packs texts faster and smaller than the oldest version that can be read
GENERATION = re.compile(r"gen-\d{6,}\.duckdb")
NO_GENERATION = "none"  # what CURRENT names from the first write on until it is done
T = TypeVar("T")


def open_store(
    url: str | Path, *, threads: int | None = None, memory_limit: str | None = None, room: int = ROOM
) -> GenerationStore:
    """Open the store in the folder ``url``; the folder is made at the first write.

    Args:
        url: path of a folder.
        threads: DuckDB threads of this process (default: all cores).
        room: bytes of what snapshots hold in memory (``data.store.memory``).
        memory_limit: DuckDB's memory in this process, such as ``1GB`` (default: DuckDB's own, 80 % of the machine).
    """
    if re.match(r"[a-z][a-z0-9+.-]+:", str(url)):
        raise StoreError(f"{url}: only a folder can be a store; give a path")
    options: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if threads:
        options["threads"] = threads
    if memory_limit:
        options["memory_limit"] = memory_limit
    return GenerationStore(Path(url), options, room)


class GenerationStore:
    """A folder of generations, ``gen-000042.duckdb``, and ``CURRENT``: the file in force and a token that never repeats."""

    def __init__(self, folder: Path, options: dict[str, Any], room: int = ROOM) -> None:
        self.folder = folder.expanduser().absolute()
        self.options = options
        self._lock = threading.Lock()
        self._opened: Snapshot | None = None
        self._memory = Memory(room)
        self._has_been_written = False

    def _pointer(self) -> tuple[str, str]:
        """File name and version in force; ("", "0") before the first write.

        Raises:
            DamagedStore: the pointer is lost or cannot be read, in a folder that holds data.
            StoreError: the system does not let it be read.
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
        """The files in the folder that are versions of the store by their names, oldest first."""
        return sorted((path for path in self.folder.glob("gen-*.duckdb") if GENERATION.fullmatch(path.name)), key=_number)

    def version(self) -> str:
        """Name of the version in force."""
        return self._pointer()[1]

    def generation(self) -> Path | None:
        """Path of the generation in force, or None before the first write."""
        name, _ = self._pointer()
        return self.folder / name if name else None

    def snapshot(self) -> Snapshot:
        """A cursor on the version in force. Cheap when the version has not changed since the last call."""
        with self._lock:
            for attempt in range(5):
                name, version = self._pointer()
                if self._opened is None or self._opened.version != version:
                    try:
                        connection = self.open_generation(name)
                    except (duckdb.Error, FileNotFoundError) as error:
                        # Between reading the pointer and opening, writers may have moved on by several generations.
                        if attempt < 4 and self._pointer()[1] != version:
                            continue
                        raise _cannot_open(name, error) from error
                    # The old connection is not closed: other threads may hold cursors on it. It goes with the last of them.
                    self._opened = Snapshot(version, connection, states(connection), self._memory)
                    self._memory.only((dataset, state.base) for dataset, state in self._opened.states.items())
                return replace(self._opened, connection=self._opened.connection.cursor())
        raise StoreError(f"the store in {self.folder} changes faster than it can be opened")

    def close(self) -> None:
        """Let go of the generation that is open: DuckDB's threads must have ended before the process does."""
        with self._lock:
            if self._opened is not None:
                self._opened.connection.close()
                self._opened = None

    def open_generation(self, name: str) -> duckdb.DuckDBPyConnection:
        """A connection that reads a generation and no more; an empty store where ``name`` is blank. Raises ``StoreError``."""
        if not name:
            connection = duckdb.connect(":memory:", config=self.options)
            create_schema(connection)
            return connection
        path = self.folder / name
        if not path.exists():
            raise FileNotFoundError(path.name)
        connection = duckdb.connect(str(path), read_only=True, config={**self.options, "enable_external_access": False})
        self._check_schema(connection)
        return connection

    def _check_schema(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Refuse a store whose tables are not the ones that this version reads and writes."""
        if _columns(connection) != _columns_of_this_version():
            raise StoreError(
                f"the store in {self.folder} was made by another version of Clueline; use that version, "
                "or give another folder and import the data again"
            )

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T], *, expect: str | None = None) -> T:
        """Apply ``change`` to a copy of the newest generation and put the copy in force; nothing is left if it raises."""
        self._pointer()  # a damaged store is left as it is
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                if expect is not None and self.version() != expect:
                    raise StoreMoved
                return self._next_generation(change)
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def _next_generation(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        name, _ = self._pointer()
        number = _number(Path(name)) + 1 if name else 1
        if not name:
            self._point(NO_GENERATION)  # should this process be killed, the file below is no sign of a lost pointer
        elif not (self.folder / name).exists():
            raise DamagedStore(f"the version in force, {name}, is gone")
        fresh = self.folder / f"gen-{number:06d}.duckdb"
        self._clean(number)
        _remove(fresh)  # a log that lost its file would be played into the new one
        try:
            if name:
                shutil.copyfile(self.folder / name, fresh)
            # Nobody reads this file before it is whole, so that a log of what is written would only be written twice.
            connection = duckdb.connect(":memory:", config={**self.options, "temp_directory": f"{fresh}.tmp"})
            try:
                connection.execute(f"attach {literal(fresh)} as fresh (recovery_mode no_wal_writes, {STORAGE}); use fresh")
                if not name:
                    create_schema(connection)
                self._check_schema(connection)
                connection.execute("begin")
                result = change(connection)
                try:
                    connection.execute("commit")
                    connection.execute("checkpoint fresh")
                except duckdb.Error as error:  # DuckDB calls a full disk a failed transaction here
                    raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error
            finally:
                connection.close()
            _sync(fresh)
            self._point(fresh.name)
        except BaseException:
            _remove(fresh)
            raise
        self._clean(number + 1)
        return result

    def restore(self, name: str) -> None:
        """Put a generation in force again, in the place of a lost or damaged one; no file is deleted.

        Args:
            name: of one of ``generations``.
        """
        try:
            with self._locked():
                self._point(name)
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def adopt(self, path: Path) -> None:
        """Put a copy of another store's generation in force; no file is deleted.

        Args:
            path: of a whole generation.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                known = self.generations()
                number = _number(known[-1]) + 1 if known else 1
                if not known and not (self.folder / "CURRENT").exists():
                    self._point(NO_GENERATION)  # should this process be killed, the file below is no sign of a lost pointer
                fresh = self.folder / f"gen-{number:06d}.duckdb"
                try:
                    shutil.copyfile(path, fresh)
                    _sync(fresh)
                    self._point(fresh.name)
                except BaseException:
                    _remove(fresh)
                    raise
        except OSError as error:
            raise StoreError(f"the store in {self.folder} cannot be written: {error}") from error

    def _clean(self, upcoming: int) -> None:
        """Remove generations too old to be opened by a reader, and what killed writers left from ``upcoming`` on."""
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
        """Hold the writers' lock; the system frees it if this process dies."""
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
    return StoreError(f"the version in force, {name}, cannot be opened ({error}). If it is damaged: python -m dashboard repair")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the empty tables of ``schema.sql`` and of the statistics."""
    connection.execute(SCHEMA.read_text(encoding="utf-8"))
    connection.execute(TABLE)


def _columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return connection.execute("""
        select table_name, column_name, data_type from duckdb_columns()
        where database_name = current_database() and not internal order by table_name, column_index""").fetchall()


@cache
def _columns_of_this_version() -> list[tuple[Any, ...]]:
    with duckdb.connect(config={"threads": 1}) as connection:
        create_schema(connection)
        return _columns(connection)


def _number(path: Path) -> int:
    """42 for gen-000042.duckdb."""
    return int(path.stem.removeprefix("gen-"))


def _remove(path: Path) -> None:
    """Remove a generation with the log and the spilled blocks that DuckDB puts beside it."""
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_name(path.name + ".tmp"), ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
