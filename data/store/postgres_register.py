"""A register in PostgreSQL, for hosts that share a store."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg

from clueline.data.store.errors import DamagedStore, StoreError
from clueline.data.store.files import CATALOGUE, number_of
from clueline.data.store.play_log import postgres_log
from clueline.data.store.register import EMPTY, PATIENCE, REFUSED_KEPT, LockLost, Pointer, Register, WriterLock

T = TypeVar("T")
TABLES = """
    create table if not exists clueline_register (
        only_row boolean primary key default true check (only_row),
        catalogue text not null,   -- in force; blank before the first write is done
        version text not null      -- never reused
    );
    create table if not exists clueline_tokens (
        only_row boolean primary key default true check (only_row),
        content bytea not null
    );
    create table if not exists clueline_audit (
        number bigint generated always as identity primary key,
        refused boolean not null,
        event text not null        -- JSON
    )"""
# One lock for each schema of the database, so that each can hold a store.
LOCK = "select pg_advisory_lock(hashtext('clueline'), (select oid::integer from pg_namespace where nspname = current_schema()))"
POLL = 0.5  # seconds between attempts to reach a server that is away, and for which a reader waits if it does not answer
RECONNECT = 60.0  # seconds for which everyone except readers of the latest state tries to reach the server
# Settings that make a connection notice that its host is gone.
CONNECTION: dict[str, Any] = {
    "connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000,
    "application_name": "clueline",
}  # fmt: skip


class PostgresRegister(Register):
    """The register in a table of a PostgreSQL database. The writers' lock is an advisory lock.

    Readers ask the server each time, which takes a fraction of a millisecond. While the server is away, they go on with the last
    pointer that they got. A writer waits for the server. A writer's lock ends with its connection, so the pointer is moved only
    through that connection.
    """

    gone = "the table clueline_register is gone"
    missing = "the table clueline_register, which names the version in force, has no row"

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._play_log = postgres_log(self._connect, psycopg.Error)
        self._poller: _Poller | None = None
        self._starting = threading.Lock()

    def read(self) -> Pointer | None:
        return self._ask(_read)

    def latest(self) -> Pointer | None:
        with self._errors():
            return self._get_poller().latest()

    def age(self) -> float:
        return self._get_poller().age()

    def _get_poller(self) -> _Poller:
        with self._starting:
            if self._poller is None or self._poller.process != os.getpid():  # a fork has no threads
                self._poller = _Poller(self._connect)
            return self._poller

    def exists(self) -> bool:
        return self._ask(_has_table)

    @contextmanager
    def locked(self, patience: float = PATIENCE) -> Iterator[WriterLock]:
        connection = self._connect_patiently()
        try:
            try:
                connection.execute("select set_config('lock_timeout', %s, false)", [f"{round(patience * 1000)}ms"])
                connection.execute(LOCK)
                connection.execute("set lock_timeout = 0")
                _make_tables(connection)
            except psycopg.errors.LockNotAvailable:
                raise StoreError("another import has held the store for 15 minutes; try again when it is done") from None
            except psycopg.OperationalError as error:
                raise LockLost from error
            except psycopg.Error as error:
                raise _unusable(error) from error
            yield _PostgresLock(connection)
        finally:
            connection.close()  # frees the lock

    def new_name(self, number: int) -> str:
        """A writer that lost its lock may still be writing, so names are random."""
        return f"gen-{number:06d}-{secrets.token_hex(4)}.duckdb"

    def read_tokens(self) -> bytes | None:
        return self._ask(_read_tokens)

    def latest_tokens(self) -> bytes | None:
        with self._errors():
            return self._get_poller().latest_tokens()

    def change_tokens(self, change: Callable[[bytes | None], tuple[bytes, Sequence[bytes]]]) -> None:
        with self._errors(), self._connect_patiently() as connection:
            _make_tables(connection)
            with connection.transaction():
                connection.execute("lock table clueline_tokens in exclusive mode")
                content, events = change(_read_tokens(connection))
                connection.execute(
                    """insert into clueline_tokens (content) values (%s)
                    on conflict (only_row) do update set content = excluded.content""",
                    [content],
                )
                _add_events(connection, events)

    def append_audit(self, events: Sequence[bytes], *, refused: bool) -> None:
        """A refused attempt does not wait for a server that is away."""
        with self._errors(), self._connect() if refused else self._connect_patiently() as connection:
            _make_tables(connection)
            _add_events(connection, events, refused=refused)
            if refused:
                connection.execute(
                    """delete from clueline_audit where refused and number <=
                        (select number from clueline_audit where refused order by number desc offset %s limit 1)""",
                    [REFUSED_KEPT],
                )

    def read_audit(self) -> list[bytes]:
        return self._ask(_read_audit)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self._conninfo, autocommit=True, **CONNECTION)

    def _ask(self, ask: Callable[[psycopg.Connection[tuple[Any, ...]]], T]) -> T:
        """Return the answer to a query that changes nothing. If the server goes away before it answers, ask again."""
        until = time.monotonic() + RECONNECT
        with self._errors():
            while True:
                try:
                    with self._connect_patiently() as connection:
                        return ask(connection)
                except psycopg.OperationalError:
                    if time.monotonic() > until:
                        raise

    def _connect_patiently(self) -> psycopg.Connection[tuple[Any, ...]]:
        until = time.monotonic() + RECONNECT
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError as error:
                if time.monotonic() > until:
                    raise _unreachable(error) from error
                time.sleep(POLL)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.OperationalError as error:
            raise _unreachable(error) from error
        except psycopg.Error as error:
            raise _unusable(error) from error


class _PostgresLock:
    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def point(self, name: str, before: Pointer | None, version: str, events: Sequence[bytes] = ()) -> None:
        sql = "update clueline_register set catalogue = %(name)s, version = %(version)s where version = %(before)s"
        if before is None or before == EMPTY:
            # Before the first write there is no row, or one without a catalogue.
            sql = """insert into clueline_register (catalogue, version) values (%(name)s, %(version)s)
                on conflict (only_row) do update set catalogue = excluded.catalogue, version = excluded.version"""
            sql += " where clueline_register.catalogue = ''" if before is not None else ""
        try:
            with self._connection.transaction():
                moved = self._connection.execute(sql, {"name": name, "version": version, "before": before and before.version})
                if moved.rowcount != 1:
                    raise LockLost  # somebody moved the pointer without the lock
                _add_events(self._connection, events)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise LockLost from error
        except psycopg.Error as error:
            raise _unusable(error) from error

    def check(self) -> None:
        try:
            self._connection.execute("select 1")
        except psycopg.Error as error:
            raise LockLost from error


class _Poller:
    """Reads the pointer and the tokens in its own thread, so a server that hangs does not hold up readers for long."""

    def __init__(self, connect: Callable[[], psycopg.Connection[tuple[Any, ...]]]) -> None:
        self.process = os.getpid()
        self._connect = connect
        self._changed = threading.Condition()
        self._wanted = 0  # number of the last read that a reader waits for
        self._started = 0  # number of the last read that was begun
        self._finished = 0
        self._pointer: Pointer | None = None
        self._tokens: bytes | None = None
        self._error: Exception | None = None  # of the last read
        self._reached_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="register", daemon=True)
        self._thread.start()

    def latest(self) -> Pointer | None:
        with self._changed:
            self._await_read()
            if isinstance(self._error, DamagedStore):
                raise self._error
            return self._pointer

    def latest_tokens(self) -> bytes | None:
        with self._changed:
            self._await_read()
            return self._tokens

    def _await_read(self) -> None:
        """Wait for a read that begins now, unless the server is away. Raises if the server was never reached."""
        if self._error is None or self._reached_at is None:
            number = self._wanted = self._started + 1
            self._changed.notify_all()
            patience = POLL if self._reached_at is not None else CONNECTION["connect_timeout"]
            if not self._changed.wait_for(lambda: self._finished >= number, patience):
                self._error = TimeoutError("the server does not answer")
        if self._reached_at is None and self._error is not None:
            raise self._error if isinstance(self._error, psycopg.Error | StoreError) else _unreachable(self._error)

    def age(self) -> float:
        with self._changed:
            if self._error is None:
                return 0.0
            return time.monotonic() - self._reached_at if self._reached_at is not None else float("inf")

    def _run(self) -> None:
        connection = None
        while True:
            with self._changed:
                # A server that is away is tried now and then; one that answers is asked when a reader wants to know.
                self._changed.wait_for(lambda: self._wanted > self._started, POLL if self._error is not None else None)
                self._started += 1
                number = self._started
            pointer: Pointer | None = None
            tokens = self._tokens
            error: Exception | None = None
            for _ in range(1 if connection is None else 2):  # a server that was restarted answers a new connection
                try:
                    connection = connection or self._connect()
                    error = None
                    try:
                        pointer = _read(connection)
                    except DamagedStore as raised:
                        error = raised
                    # Read last: what is private is written before the data are in force, so it is known for this pointer.
                    tokens = _read_tokens(connection)
                    break
                except psycopg.Error as raised:
                    error = raised
                    if connection is not None:
                        with suppress(psycopg.Error):
                            connection.close()
                        connection = None
            with self._changed:
                self._finished, self._error, self._tokens = number, error, tokens
                if error is None:
                    self._pointer, self._reached_at = pointer, time.monotonic()
                self._changed.notify_all()


def _has_table(connection: psycopg.Connection[tuple[Any, ...]], name: str = "clueline_register") -> bool:
    row = connection.execute("select to_regclass(%s)", [name]).fetchone()
    return row is not None and row[0] is not None


def _make_tables(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    # Not if they exist, so that a user who may not create tables can write. Earlier versions created the audit later.
    if not (_has_table(connection) and _has_table(connection, "clueline_audit")):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtext('clueline tables'))")  # two at once would collide
            connection.execute(TABLES)


def _add_events(connection: psycopg.Connection[tuple[Any, ...]], events: Sequence[bytes], *, refused: bool = False) -> None:
    for event in events:
        connection.execute("insert into clueline_audit (refused, event) values (%s, %s)", [refused, event.decode()])


def _read(connection: psycopg.Connection[tuple[Any, ...]]) -> Pointer | None:
    try:
        row = connection.execute("select catalogue, version from clueline_register").fetchone()
    except psycopg.errors.UndefinedTable:
        return None
    if row is None:
        return None
    catalogue, version = row
    if not catalogue:
        return EMPTY
    if not CATALOGUE.fullmatch(catalogue) or not str(version).startswith(f"{number_of(catalogue)}-"):
        raise DamagedStore("the table clueline_register does not name a version")
    return Pointer(catalogue, version)


def _read_tokens(connection: psycopg.Connection[tuple[Any, ...]]) -> bytes | None:
    try:
        row = connection.execute("select content from clueline_tokens").fetchone()
    except psycopg.errors.UndefinedTable:
        return None
    return bytes(row[0]) if row else None


def _read_audit(connection: psycopg.Connection[tuple[Any, ...]]) -> list[bytes]:
    if not _has_table(connection, "clueline_audit"):
        return []
    return [event.encode() for (event,) in connection.execute("select event from clueline_audit").fetchall()]


def _unreachable(error: Exception) -> StoreError:
    return StoreError(f"the store's PostgreSQL server cannot be reached ({str(error).strip().splitlines()[0]})")


def _unusable(error: Exception) -> StoreError:
    return StoreError(f"the store's PostgreSQL database cannot be used ({str(error).strip().splitlines()[0]})")
