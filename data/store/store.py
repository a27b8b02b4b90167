"""The store: catalogues, one of which is in force, and the objects that they name.

DuckDB lets either one process write to a file or many read it. So a file that may have readers is never written to. A write
copies the catalogue in force, which is small, changes the copy, makes it durable, and then moves the pointer in one atomic step.
Readers check the pointer and open the new catalogue when it has moved.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb

from clueline.data.duckdb_and_polars import literal
from clueline.data.store import migrations
from clueline.data.store.audit import Action, AuditEvent, encode, log_events, new_event
from clueline.data.store.cache_validity_tokens import renew_revisions, states
from clueline.data.store.catalogue_schema import STORAGE, UpgradedCatalogues, check_schema, create_schema
from clueline.data.store.errors import DamagedStore, StoreError, UnreadableStore, reason
from clueline.data.store.files import OBJECTS, CatalogueFile, FileState, file_state, number_of, remove_database
from clueline.data.store.location import Location, read_location
from clueline.data.store.migrations import FIRST, can_serve_schema, current_schema, migrate, revert, schema_of
from clueline.data.store.register import EMPTY, LockLost, Pointer, WriterLock, digest, new_version
from clueline.data.store.run_cache import CAPACITY, RunCache
from clueline.data.store.run_files import FORM, Objects, all_objects
from clueline.data.store.snapshot import Snapshot
from clueline.data.store.sweep import sweep
from clueline.data.store.tokens_and_readers import TokenError, carry_access

T = TypeVar("T")
MAX_TRIES = 20  # of a write that loses its connection to the register
log = logging.getLogger(__name__)
CONNECTING = threading.Lock()  # connections to one file share settings, and some settings cannot be made twice


def open_store(
    url: str | Path, *, threads: int | None = None, memory_limit: str | None = None, capacity: int = CAPACITY
) -> Store:
    """Open a store, which is created at the first write. ``data.store.location`` reads the ``url``; raises ``StoreError``.

    By default, DuckDB has ``threads`` on all cores and 80 % of the machine's memory; ``memory_limit`` is a text such as ``1GB``.
    Snapshots may keep ``capacity`` bytes in memory (``data.store.run_cache``).
    """
    options: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if threads:
        options["threads"] = threads
    if memory_limit:
        options["memory_limit"] = memory_limit
    return Store(read_location(url), options, capacity)


class Store:
    """Catalogues, such as ``gen-000042.duckdb``, and objects. For ``url``, ``place`` and ``local``, see ``Location``."""

    def __init__(self, location: Location, options: dict[str, Any], capacity: int = CAPACITY) -> None:
        self.url, self.place, self.register, self.files, self.local = location
        self.options = options
        self.objects = Objects(self.files)
        self._has_been_written = False
        self._lock = threading.Lock()
        self._opened: Snapshot | None = None
        self._earlier: Snapshot | None = None  # the one opened before that
        self._run_cache = RunCache(capacity)
        self._whole_catalogues: dict[str, tuple[FileState, str]] = {}
        self._upgraded = UpgradedCatalogues(self.local / "upgraded")

    def catalogues(self) -> list[CatalogueFile]:
        return self.files.catalogues()

    def pointer(self) -> Pointer:
        """Return what is in force now. Raises ``DamagedStore`` if a store that holds data has no intact pointer."""
        return self._checked(self.register.read())

    def latest(self) -> Pointer:
        """Return what is in force or, while the register cannot be reached, what was in force last."""
        return self._checked(self.register.latest())

    def _checked(self, pointer: Pointer | None) -> Pointer:
        if pointer is not None:
            self._has_been_written = True
            return pointer
        if self._has_been_written and not self.register.exists():
            raise DamagedStore(self.register.gone)
        if self._has_been_written or self.catalogues():
            raise DamagedStore(self.register.missing)
        return EMPTY

    def check_outside(self, path: Path) -> None:
        """Refuse a path in a folder of this store, perhaps through a symlink, because only the store itself may write there."""
        for folder in (self.local, self.files.root):
            if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
                raise StoreError(f"{path} is in {folder}, where only the store itself writes; choose a path elsewhere")

    def version(self) -> str:
        return self.pointer().version

    def new_objects(self) -> Objects:
        """Return the objects of this store for a writer, in the form that every host can read."""
        pointer = self.pointer()
        served = pointer.name and self.catalogue_path(pointer) != self.catalogue_file(pointer)
        return Objects(self.files, form=migrations.steps()[-1].form_before if served else FORM)

    @contextmanager
    def adding_objects(self) -> Iterator[Objects]:
        """Yield ``new_objects``. If what follows fails, those that were added are removed again."""
        objects = self.new_objects()
        try:
            yield objects
        except BaseException:
            self.discard(objects.added)
            raise

    def catalogue(self) -> Path | None:
        """Return the current catalogue's path; None before the first write."""
        pointer = self.pointer()
        return self.catalogue_path(pointer) if pointer.name else None

    def catalogue_path(self, pointer: Pointer) -> Path:
        """Return the local path of a catalogue in this version's schema: ``catalogue_file``, or a migrated copy of it."""
        return self._upgraded.path(self.catalogue_file(pointer))

    def catalogue_file(self, pointer: Pointer) -> Path:
        """Return the local path of a catalogue, after comparing it with its digest at the first use and when it has changed.

        If the file is gone, that shows only when it is opened. Raises ``DamagedStore`` or ``OSError``.
        """
        path = self.files.path(pointer.name)
        if pointer.digest and path.exists() and self._whole_catalogues.get(pointer.name) != (file_state(path), pointer.digest):
            state = file_state(path)
            if digest(path) != pointer.digest:
                self.files.renew_copy(pointer.name)
                state = file_state(path)
                if digest(path) != pointer.digest:
                    raise DamagedStore(f"the version in force, {pointer.name}, is not what was written")
            self._whole_catalogues = {pointer.name: (state, pointer.digest)}  # earlier ones are not opened again
        return path

    def check_catalogue(self) -> None:
        """Raise ``DamagedStore`` if the catalogue in force is lost, even if this process still has it open."""
        pointer = self.latest()
        if pointer.name and not self.catalogue_path(pointer).exists() and self.latest() == pointer:
            raise DamagedStore(f"the version in force, {pointer.name}, is gone")

    def snapshot(self) -> Snapshot:
        """Return a cursor on the current version. Cheap if the version has not changed since. Raises ``StoreError``."""
        with self._lock:
            for attempt in range(5):
                pointer = self.latest()
                try:
                    self._open(pointer)
                except (DamagedStore, duckdb.Error, FileNotFoundError) as error:
                    self._opened = None
                    # Between reading the pointer and opening the file, writers may have added several catalogues.
                    if attempt < 4 and self.latest().version != pointer.version:
                        continue
                    raise _cannot_open(pointer.name, error) from error
                except OSError as error:
                    raise StoreError(f"the store in {self.place} cannot be read: {error}") from error
                assert self._opened is not None
                return replace(self._opened, connection=self._opened.connection.cursor(), results={})
        raise StoreError(f"the store in {self.place} changes faster than it can be opened")

    def _open(self, pointer: Pointer) -> None:
        """Open the version in force unless it is already open. Checks each time whether its file has changed."""
        if self._opened is not None and self._opened.version == pointer.version:
            if pointer.name:
                with suppress(OSError):  # a file that is gone, or out of reach, is still open
                    self.catalogue_path(pointer)
            return
        connection = self.open_catalogue(pointer.name, pointer)
        # The old connection is not closed: it lives as long as other threads have cursors on it.
        self._earlier = self._opened
        self._opened = Snapshot(pointer.version, connection, states(connection), self._run_cache, self.objects)
        self._run_cache.retain((dataset, state.base) for dataset, state in self._opened.states.items())

    def snapshot_at(self, revision: str) -> Snapshot | None:
        """Return a cursor on a version in which a dataset has this revision; None if no version of the last few does."""
        current = self.snapshot()
        if current.has_revision(revision):
            return current
        with self._lock:
            if self._earlier is None or not self._earlier.has_revision(revision):
                self._earlier = self._find_revision(revision) or self._earlier
            earlier = self._earlier
            if earlier is not None and earlier.has_revision(revision):
                return replace(earlier, connection=earlier.connection.cursor(), results={})
        return None

    def _find_revision(self, revision: str) -> Snapshot | None:
        """Open the catalogues that have not been removed, newest first, until one has this revision."""
        for file in reversed(self.catalogues()):
            try:
                connection = self.open_catalogue(file.name)
            except (duckdb.Error, OSError, StoreError):
                continue  # it was removed meanwhile, or is damaged
            known = states(connection)
            if any(state.revision == revision for state in known.values()):
                token = hashlib.sha256(repr(known).encode()).hexdigest()[:8]  # the token of its pointer is no longer known
                return Snapshot(f"{file.number}-{token}", connection, known, self._run_cache, self.objects)
            connection.close()
        return None

    def close(self) -> None:
        """Close the open catalogues. DuckDB's threads must end before the process does."""
        with self._lock:
            for snapshot in (self._opened, self._earlier):
                if snapshot is not None:
                    snapshot.connection.close()
            self._opened = self._earlier = None

    def open_earlier_catalogue(self, name: str) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection to a catalogue as it is, which an earlier version may have made.

        Raises ``StoreError``, also for one that a later version made, or ``FileNotFoundError``.
        """
        path = self.files.path(name)
        if not path.exists():
            raise FileNotFoundError(path.name)
        connection = self._connect(path)
        if not FIRST <= schema_of(connection) < current_schema():
            check_schema(connection, self.place)
        return connection

    def open_catalogue(self, name: str, pointer: Pointer | None = None) -> duckdb.DuckDBPyConnection:
        """Return a read-only connection to a catalogue, or to an empty store if ``name`` is blank.

        With a pointer, which means that it is in force, it is compared with its digest. Raises ``StoreError`` or
        ``FileNotFoundError``.
        """
        if not name:
            connection = duckdb.connect(":memory:", config=self.options)
            create_schema(connection)
            return connection
        path = self.catalogue_path(pointer) if pointer else self._upgraded.path(self.files.path(name))
        if not path.exists():
            raise FileNotFoundError(path.name)
        connection = self._connect(path)
        check_schema(connection, self.place)
        return connection

    def _connect(self, path: Path) -> duckdb.DuckDBPyConnection:
        # Settings are made after connecting: DuckDB refuses a second connection of one process with another configuration.
        with CONNECTING:
            connection = duckdb.connect(str(path), read_only=True)
            for name, value in self.options.items():
                connection.execute(f"set {name} = {literal(value)}")
            if connection.execute("select current_setting('enable_external_access')").fetchall()[0][0]:
                connection.execute(f"set allowed_directories = [{literal(self.files.root / OBJECTS)}]")
                connection.execute("set enable_external_access = false")
        connection.execute("set parquet_metadata_cache = true")  # objects never change
        return connection

    def write(
        self, change: Callable[[duckdb.DuckDBPyConnection], T], events: Callable[[T], Iterable[AuditEvent]] = lambda result: ()
    ) -> T:
        """Apply ``change`` to a copy of the current catalogue, in a transaction, make the copy current, and return the result.

        The audit gets the ``events`` of the result, wherever this is killed, if and only if the copy is current. If ``change``
        raises, the store is unchanged. Raises ``StoreError`` if the store is damaged or cannot be written.
        """
        self.pointer()  # raises for a damaged store
        return self._write(lambda lock, attempt: self._next_catalogue(lock, attempt, change, events))

    def _write(self, commit: Callable[[WriterLock, _Attempt], T]) -> T:
        """Call ``commit`` while holding the writers' lock. If the lock is lost before the pointer has moved, call it again."""
        attempt = _Attempt()
        try:
            for _ in range(MAX_TRIES):
                with suppress(LockLost), self.register.locked() as lock:
                    if attempt.version and self.pointer().version == attempt.version:
                        result = cast("T", attempt.result)  # the pointer had moved
                    else:
                        try:
                            result = commit(lock, attempt)
                        except Exception:
                            lock.check()  # without the lock, another writer may have caused this
                            raise
                    log_events(attempt.events)
                    return result
        except (OSError, duckdb.IOException, duckdb.FatalException) as error:
            raise StoreError(f"the store in {self.place} cannot be written: {reason(error)}") from error
        raise StoreError(
            f"the store in {self.place} cannot be written: the connection to its register was lost {MAX_TRIES} times"
        )

    def migrate(self) -> tuple[int, int]:
        """Migrate an older store, as a new catalogue. Returns the schemas before and after. Raises ``StoreError``."""

        def change(connection: duckdb.DuckDBPyConnection) -> int:
            schema = schema_of(connection)
            # A table cannot be altered in a transaction that has updated it. Nobody reads the draft yet; an error discards it.
            connection.execute("commit")
            migrate(connection, self.objects)
            connection.execute("begin")
            check_schema(connection, self.place)
            datasets = [row[0] for row in connection.execute("select dataset from datasets").fetchall()]
            renew_revisions(connection, datasets, bases=datasets)
            return schema

        def commit(lock: WriterLock, attempt: _Attempt) -> tuple[int, int]:
            pointer = self.pointer()
            if not self.files.exists(pointer.name):
                raise DamagedStore(f"the version in force, {pointer.name}, is gone")
            with self._connect(self.catalogue_file(pointer)) as connection:
                schema = schema_of(connection)
                if schema >= current_schema():
                    check_schema(connection, self.place)
                    return schema, schema
            events = [new_event("migrated", None)]
            return self._next_catalogue(lock, attempt, change, lambda _: events, checked=False), current_schema()

        if not self.pointer().name:
            return current_schema(), current_schema()
        return self._write(commit)

    def _next_catalogue(
        self,
        lock: WriterLock,
        attempt: _Attempt,
        change: Callable[[duckdb.DuckDBPyConnection], T],
        events: Callable[[T], Iterable[AuditEvent]],
        *,
        checked: bool = True,
    ) -> T:
        before = self.pointer()
        number = number_of(before.name) + 1 if before.name else 1
        if not before.name:
            lock.point("", EMPTY, EMPTY.version)  # if this process is killed, the file below must not look like a lost pointer
        elif not self.files.exists(before.name):
            raise DamagedStore(f"the version in force, {before.name}, is gone")
        else:
            self.catalogue_file(before)  # raises if it is damaged: then nothing is removed
        name = self.register.new_name(number)
        sweep(self.files, self.objects, before.name, number)
        draft = self.files.draft(name)
        try:
            if before.name:
                shutil.copyfile(self.catalogue_file(before), draft)
                if before.digest and digest(draft) != before.digest:
                    raise DamagedStore(f"the version in force, {before.name}, is not what was written")
            result, current = self._change_draft(draft, change, new=not before.name, checked=checked)
            lock.check()  # without the lock, another writer may have given this name to its own file
            self.files.add(name, draft)
            if current:
                self._upgraded.remember_current(self.files.root / name)
            attempt.result, attempt.events = result, list(events(result))
            self._point(lock, attempt, name, before)
        except LockLost:
            raise  # the pointer may yet move; what is not published is swept by the next writer
        except BaseException:
            self._remove_unpublished(name, draft)
            raise
        with suppress(OSError):  # what was published is published, even if nothing can be cleaned
            sweep(self.files, self.objects, name, number + 1)
        return result

    def _change_draft(
        self, draft: Path, change: Callable[[duckdb.DuckDBPyConnection], T], *, new: bool, checked: bool
    ) -> tuple[T, bool]:
        """Apply a change to a catalogue that nobody reads yet. Return its result, and whether the schema is the current one."""
        connection = duckdb.connect(":memory:", config={**self.options, "temp_directory": f"{draft}.tmp"})
        try:
            # No reader opens this file before it is complete, so it needs no write-ahead log.
            connection.execute(f"attach {literal(draft)} as new (recovery_mode no_wal_writes, {STORAGE}); use new")
            upgraded = not new and checked and can_serve_schema(schema_of(connection))
            if new:
                create_schema(connection)
            elif upgraded:
                migrate(connection, None)
            if checked and not new:
                check_schema(connection, self.place)
            connection.execute("begin")
            result = change(connection)
            try:
                connection.execute("commit")
                if upgraded:
                    revert(connection)  # other hosts may not know the new schema yet
                connection.execute("checkpoint new")
            except duckdb.Error as error:  # here DuckDB reports a full disk as a failed transaction
                raise StoreError(f"the store in {self.place} cannot be written: {error}") from error
            return result, checked and not upgraded
        finally:
            connection.close()

    def _point(self, lock: WriterLock, attempt: _Attempt, name: str, before: Pointer | None) -> None:
        attempt.version = new_version(number_of(name), self.files.path(name))
        lock.point(name, before, attempt.version, encode(attempt.events))

    def _remove_unpublished(self, name: str, draft: Path) -> None:
        """Remove a catalogue after a failure, unless it is in force: the pointer may have moved before."""
        with suppress(StoreError, OSError):  # what cannot be decided now is left to the sweep
            remove_database(draft)
            if self.pointer().name != name:
                self.files.remove(name)

    def discard(self, names: Sequence[str]) -> None:
        """Remove objects that a failed import added, except those in force. What cannot be decided now is left to the sweep."""
        try:
            with self.snapshot().connection as connection:
                named = {part.name for part in all_objects(connection)}
        except (StoreError, duckdb.Error):
            return
        for name in names:
            if name not in named:
                self.objects.remove(name)

    def restore(self, name: str) -> None:
        """Make one of ``catalogues`` current again, instead of a lost or damaged one. No file is deleted."""

        def commit(lock: WriterLock, attempt: _Attempt) -> None:
            attempt.events = [new_event("repaired", None)]
            self._point(lock, attempt, name, None)

        self._write(commit)

    def adopt(self, source: Store, name: str, *, is_copy: bool) -> list[str]:
        """Copy an intact version of another store, make the copy current, and return the datasets that have become private.

        What is private there is private here before the version is current, wherever this is killed. No file is deleted. For
        ``is_copy``, see ``carry_access``; anything else is a restored backup in the audit. Raises ``StoreError``; then the
        current version stays.
        """
        try:
            catalogue = source.files.path(name)
            with source.open_earlier_catalogue(name) as connection:
                parts = all_objects(connection)
            for part in parts:
                self.objects.copy(source.objects, part)
        except OSError as error:
            raise StoreError(f"the store in {self.place} cannot be written: {reason(error)}") from error

        new: set[str] = set()

        def carry() -> None:
            new.update(carry_access(source.register, self.register, is_copy=is_copy))

        try:
            action: Action | None = None if is_copy else "restored_backup"
            self._write(lambda lock, attempt: self._adopt_catalogue(lock, attempt, catalogue, carry, action))
        except TokenError as error:
            raise StoreError(f"nothing is put in force, because it is not known which datasets are private: {error}") from error
        return sorted(new)

    def _adopt_catalogue(
        self,
        lock: WriterLock,
        attempt: _Attempt,
        catalogue: Path,
        before_publishing: Callable[[], None],
        action: Action | None,
    ) -> None:
        known = self.catalogues()
        if not known and self.register.read() is None:
            lock.point("", EMPTY, EMPTY.version)  # see _next_catalogue
        name = self.register.new_name(known[-1].number + 1 if known else 1)
        draft = self.files.draft(name)
        try:
            shutil.copyfile(catalogue, draft)
            self.files.add(name, draft)
            before_publishing()
            attempt.events = [new_event(action, None)] if action else []
            self._point(lock, attempt, name, None)
        except LockLost:
            raise
        except BaseException:
            self._remove_unpublished(name, draft)
            raise


@dataclass
class _Attempt:
    """A commit whose lock may be lost before it is known whether the pointer has moved."""

    version: str = ""
    result: object = None
    events: Sequence[AuditEvent] = ()


def _cannot_open(name: str, error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if isinstance(error, FileNotFoundError):
        return DamagedStore(f"the version in force, {name}, is gone")
    log.error("%s cannot be opened: %s", name, error)  # names files of this host
    return UnreadableStore(f"the version in force, {name}, cannot be opened.")
