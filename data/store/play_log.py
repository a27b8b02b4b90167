"""The log of sessions in which people answer questions: sessions, players and answers.

It is kept next to the catalogues, in SQLite (a store in a folder) or PostgreSQL (a store that hosts share), because answers come
one at a time and by the hundred, while each write to a catalogue copies all of it.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from clueline.data.store.errors import StoreError, reason
from clueline.data.store.files import make_folder

FILE = "people.sqlite"
BUSY = 10.0  # seconds to wait for another writer
MAX_IDLE = 4  # idle connections that each process keeps open
ERASED = "erased "  # begins what stands instead of a player's id after an erasure; an id is a digest
TABLES = (
    "create table if not exists clueline_play_sessions (session text primary key, document text not null)",
    """create table if not exists clueline_play_players (
        session text not null references clueline_play_sessions, player text not null,
        place integer not null,     -- order of joining, from 0; never given twice
        primary key (session, player), unique (session, place))""",
    """create table if not exists clueline_play_answers (
        session text not null, player text not null,
        step integer not null,      -- as the mode of the session numbers what the player says, from 0
        answer text not null,       -- JSON
        primary key (session, player, step),
        foreign key (session, player) references clueline_play_players on delete cascade)""",
    """create table if not exists clueline_play_origins (
        session text not null, origin text not null,
        joined integer not null,    -- how many players joined from there
        primary key (session, origin))""",  # not copied; earlier versions of Clueline do not have it
)
NAMES = ("clueline_play_sessions", "clueline_play_players", "clueline_play_answers")  # each refers to the one before it


class LoggedAnswer(NamedTuple):
    """An answer, as JSON. Both numbers are from 0: the player's place in the order of joining, and the step of the mode."""

    place: int
    step: int
    answer: str


class LoggedPlayer(NamedTuple):
    """A player's place in the order of joining, from 0, and the player's answers, as JSON by step."""

    place: int
    answers: dict[int, str]


class LoggedSession(NamedTuple):
    """A session, with its number of players who joined, whether or not they were erased since, and of answers."""

    session: str
    document: str
    joined: int
    answers: int


class PlayTables(NamedTuple):
    """Everything in a log at one moment: the rows of its tables, in order of their keys, including places of erased players."""

    sessions: list[tuple[Any, ...]]
    players: list[tuple[Any, ...]]
    answers: list[tuple[Any, ...]]

    def of_sessions(self, sessions: Collection[str]) -> PlayTables:
        return PlayTables(*([row for row in rows if row[0] in sessions] for rows in self))

    def present_players(self) -> list[tuple[Any, ...]]:
        return [row for row in self.players if not row[1].startswith(ERASED)]


class PlayLog:
    """Sessions, players and answers. All ids are digests of secrets.

    A place is given once, because a player's order of questions and pseudonym follow from it. When the player is erased, the row
    stays without the player's id. Earlier versions of Clueline, which deleted it, take it for a player who never answers.

    Every method raises ``StoreError`` if the log cannot be reached. Connections are kept for the next statement: opening one
    costs a hundred times as much as most statements, and closing the last one makes SQLite copy its log into the file.

    Args:
        connect: opens a connection that commits each statement, to a database with the tables.
        read: opens a connection for reading only; returns None if there is no log yet.
        mark: placeholder of a parameter in SQL.
        at_one_moment: SQL that begins a transaction whose statements all read the same state.
        place: identifies the file that connections are to; a connection to another file is not used again.
        after_erasing: SQL that removes from the disk what an erasure left there.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        read: Callable[[], Any],
        mark: str,
        errors: type[Exception],
        at_one_moment: str = "begin",
        place: Callable[[], object] = lambda: None,
        after_erasing: str | None = None,
    ) -> None:
        self._connect, self._read, self._mark, self._errors = connect, read, mark, errors
        self._at_one_moment, self._place, self._after_erasing = at_one_moment, place, after_erasing
        self._idle: list[tuple[object, Any]] = []
        self._writing = Lock()
        weakref.finalize(self, _close, self._idle)

    def add_session(self, session: str, document: str) -> None:
        self._write("insert into clueline_play_sessions values (?, ?)", session, document)

    def session(self, session: str) -> str | None:
        rows = self._run("select document from clueline_play_sessions where session = ?", session)
        return str(rows[0][0]) if rows else None

    def overview(self) -> list[LoggedSession]:
        """Return every session. Missing files and tables are not created."""
        with self._store_errors():
            connection = self._read()
            if connection is None:
                return []
            with closing(connection):
                rows = connection.execute("""
                    select session, document,
                        (select coalesce(max(place) + 1, 0) from clueline_play_players p where p.session = s.session),
                        (select count(*) from clueline_play_answers a where a.session = s.session)
                    from clueline_play_sessions s""").fetchall()
        return [LoggedSession(*row) for row in rows]

    def place(self, session: str, player: str) -> int | None:
        """Return the place of a player in the order of joining; None if the player has not joined."""
        rows = self._run("select place from clueline_play_players where session = ? and player = ?", session, player)
        return int(rows[0][0]) if rows else None

    def admit(self, session: str, origin: str, most: int) -> bool:
        """Count a player who joins from somewhere, and return whether fewer than ``most`` have come from there."""
        return bool(
            self._write(
                """insert into clueline_play_origins values (?, ?, 1) on conflict (session, origin)
                    do update set joined = clueline_play_origins.joined + 1 where clueline_play_origins.joined < ? returning 1""",
                session, origin, most,
            )
        )  # fmt: skip

    def join(self, session: str, player: str, most: int) -> int | None:
        """Add a player who has not joined yet, and return the place; None if all are taken. Places of erased players count."""
        while (place := self.place(session, player)) is None:
            # If two players join at once, one gets the place, and the other tries again.
            self._write(
                """insert into clueline_play_players
                    select cast(? as text), cast(? as text), coalesce(max(place) + 1, 0)
                    from clueline_play_players where session = ? having coalesce(max(place) + 1, 0) < ?
                    on conflict do nothing""",
                session, player, session, most,
            )  # fmt: skip
            ((taken,),) = self._run("select coalesce(max(place) + 1, 0) from clueline_play_players where session = ?", session)
            if taken >= most:
                return self.place(session, player)
        return place

    def player(self, session: str, player: str, since: int = 0) -> LoggedPlayer | None:
        """Return a player with the answers at a step and later, all of one moment; None if the player has not joined."""
        rows = self._run(
            """select place, step, answer from clueline_play_players p left join clueline_play_answers a
                on a.session = p.session and a.player = p.player and step >= ?
                where p.session = ? and p.player = ? order by step""",
            since, session, player,
        )  # fmt: skip
        return LoggedPlayer(rows[0][0], {step: answer for _, step, answer in rows if step is not None}) if rows else None

    def add_answer(self, session: str, player: str, place: int, step: int, answer: str) -> None:
        """Add an answer durably, unless this step already has one or the player was erased and does not have this place now."""
        self._write(
            """insert into clueline_play_answers
                select session, player, cast(? as integer), cast(? as text)
                from clueline_play_players where session = ? and player = ? and place = ?
                on conflict do nothing""",
            step, answer, session, player, place,
        )  # fmt: skip

    def answers(self, session: str) -> list[LoggedAnswer]:
        """Return the answers of a session, ordered by place and step."""
        sql = """select place, step, answer from clueline_play_answers join clueline_play_players using (session, player)
            where session = ? order by place, step"""
        return [LoggedAnswer(*row) for row in self._run(sql, session)]

    def erase(self, session: str, player: str, record: Callable[[], None] = lambda: None) -> bool:
        """Delete a player with all answers. Only the place stays taken. Returns False if there was no such player.

        ``record`` is called before what is deleted is gone for good.
        """
        with self._transaction() as connection:
            delete = f"delete from clueline_play_players where session = {self._mark} and player = {self._mark} returning place"
            places = connection.execute(delete, (session, player)).fetchall()
            for (place,) in places:
                insert = f"insert into clueline_play_players values ({self._marks(3)})"
                connection.execute(insert, (session, f"{ERASED}{place}", place))
                record()
        if places and self._after_erasing:
            self._write(self._after_erasing)
        return bool(places)

    def tables(self) -> PlayTables:
        """Return everything in the log. Missing files and tables are not created."""
        with self._store_errors():
            connection = self._read()
            if connection is None:
                return PlayTables([], [], [])
            with closing(connection):
                connection.execute(self._at_one_moment)
                return PlayTables(*(sorted(connection.execute(f"select * from {name}").fetchall()) for name in NAMES))

    def add_missing(self, tables: PlayTables) -> set[str]:
        """Add the sessions that this log lacks, all or none, and return their ids.

        A session that this log already has stays as it is, so nobody who was erased since comes back.
        """
        if not tables.sessions:
            return set()
        with self._transaction() as connection:
            insert = f"insert into clueline_play_sessions values ({self._marks(2)}) on conflict do nothing returning session"
            added = {row[0] for row in tables.sessions if connection.execute(insert, row).fetchall()}
            for name, rows in zip(NAMES[1:], tables.of_sessions(added)[1:], strict=True):
                for row in rows:
                    connection.execute(f"insert into {name} values ({self._marks(len(row))})", row)
        return added

    def _marks(self, count: int) -> str:
        return ", ".join([self._mark] * count)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Return a connection whose changes are made together when the block ends, or not at all."""
        with self._writing, self._store_errors(), closing(self._connect()) as connection:
            connection.execute("begin")
            yield connection
            connection.execute("commit")

    def _write(self, sql: str, *parameters: str | int) -> Sequence[tuple[Any, ...]]:
        """Run a statement that writes. Only one runs at a time: waiters for SQLite's lock retry less and less often."""
        with self._writing:
            return self._run(sql, *parameters)

    def _run(self, sql: str, *parameters: str | int) -> Sequence[tuple[Any, ...]]:
        statement = sql.replace("?", self._mark)
        with self._store_errors():
            while (connection := self._take()) is not None:
                with suppress(self._errors):  # the database may have gone away since; a new connection will tell
                    return self._execute(connection, statement, parameters)
            return self._execute(self._connect(), statement, parameters)

    def _take(self) -> Any:
        place = self._place()
        while self._idle:
            where, connection = self._idle.pop()
            if where == place:
                return connection
            connection.close()
        return None

    def _execute(self, connection: Any, statement: str, parameters: tuple[str | int, ...]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a statement. The connection is kept unless the statement fails."""
        try:
            cursor = connection.execute(statement, parameters)
            rows: Sequence[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < MAX_IDLE:
            self._idle.append((self._place(), connection))
        else:
            connection.close()
        return rows

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise StoreError(f"the log of people's sessions cannot be used ({reason(error)})") from error


def _close(idle: list[tuple[object, Any]]) -> None:
    for _, connection in idle:
        connection.close()


def copy_sessions(source: PlayLog, target: PlayLog) -> None:
    """Copy the sessions that the target lacks. Raises ``StoreError``, also if the copy differs from the original."""
    tables = source.tables()
    added = target.add_missing(tables)
    if added and target.tables().of_sessions(added) != tables.of_sessions(added):
        raise StoreError("the log of people's sessions was not copied completely")


def folder_log(folder: Path) -> PlayLog:
    """Return the log of a store in a folder. Only the owner of its file may read it."""
    path = folder / FILE

    def connect() -> sqlite3.Connection:
        if not path.exists():
            make_folder(folder)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma secure_delete = on")  # what is erased is overwritten
        if not connection.execute("select 1 from sqlite_master where name = 'clueline_play_origins'").fetchone():
            for table in TABLES:
                connection.execute(table)
            connection.execute("pragma journal_mode = wal")
        return connection

    def read() -> sqlite3.Connection | None:
        if not path.exists():
            return None
        if os.access(folder, os.W_OK):
            mode = "mode=rw"  # with mode=ro, SQLite would leave its lock files behind
        elif path.with_name(f"{FILE}-wal").exists():
            mode = "mode=ro"
        else:
            mode = "immutable=1"  # a backup on a read-only medium, where SQLite cannot lock
        address = f"{path.absolute().as_uri()}?{mode}"
        connection = sqlite3.connect(address, timeout=BUSY, isolation_level=None, uri=True)
        try:
            problems = connection.execute("pragma integrity_check").fetchall()
            if problems != [("ok",)]:
                raise sqlite3.DatabaseError(f"{FILE} is damaged: {problems[0][0]}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def place() -> tuple[int, int] | None:
        try:
            status = path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    # Without this, what is erased would stay in SQLite's log, and in the file itself, until the log is copied into the file.
    return PlayLog(connect, read, "?", sqlite3.Error, place=place, after_erasing="pragma wal_checkpoint(truncate)")


def postgres_log(connect: Callable[[], Any], errors: type[Exception]) -> PlayLog:
    """Return the log in tables of a PostgreSQL database."""

    def has_table(connection: Any, table: str) -> bool:
        return bool(connection.execute(f"select to_regclass('{table}') is not null").fetchone()[0])

    def read() -> Any:
        connection = connect()
        if has_table(connection, "clueline_play_answers"):
            return connection
        connection.close()
        return None

    def connect_to_tables() -> Any:
        connection = connect()
        if not has_table(connection, "clueline_play_origins"):
            with connection.transaction():
                connection.execute("select pg_advisory_xact_lock(hashtext('clueline tables'))")  # two at once would collide
                for table in TABLES:
                    connection.execute(table)
        return connection

    return PlayLog(connect_to_tables, read, "%s", errors, "begin isolation level repeatable read")
