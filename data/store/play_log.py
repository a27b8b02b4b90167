"""The log of sessions in which people answer questions: sessions, players and answers.

It lies beside the catalogues, in SQLite (a store in a folder) or PostgreSQL (a store that hosts share), because answers come one
at a time and by the hundred, while a catalogue is copied with each write. An answer is durable when ``add_answer`` returns.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from data.store.errors import StoreError

FILE = "people.sqlite"
BUSY = 10.0  # seconds to wait for another writer
TABLES = (
    "create table if not exists clueline_play_sessions (session text primary key, document text not null)",
    """create table if not exists clueline_play_players (
        session text not null references clueline_play_sessions, player text not null,
        place integer not null,     -- order of joining, from 0
        primary key (session, player), unique (session, place))""",
    """create table if not exists clueline_play_answers (
        session text not null, player text not null,
        step integer not null,      -- number of the clue in the player's own order, from 0
        answer text not null,       -- JSON
        primary key (session, player, step),
        foreign key (session, player) references clueline_play_players on delete cascade)""",
)


class LoggedAnswer(NamedTuple):
    """An answer as it was logged.

    Attributes:
        place: of the player, in the order of joining, from 0.
        step: number of the clue in the player's own order, from 0.
        answer: JSON.
    """

    place: int
    step: int
    answer: str


class PlayLog:
    """Sessions, players and answers. All ids are digests of secrets.

    Every method raises ``StoreError`` if the log cannot be reached.

    Args:
        connect: opens a connection that commits each statement, to a database with the tables.
        mark: stands for a parameter in SQL.
        errors: what the driver raises.
    """

    def __init__(self, connect: Callable[[], Any], mark: str, errors: type[Exception]) -> None:
        self._connect, self._mark, self._errors = connect, mark, errors

    def add_session(self, session: str, document: str) -> None:
        """Add a session."""
        self._run("insert into clueline_play_sessions values (?, ?)", session, document)

    def session(self, session: str) -> str | None:
        """The document of a session; None if there is none."""
        rows = self._run("select document from clueline_play_sessions where session = ?", session)
        return str(rows[0][0]) if rows else None

    def place(self, session: str, player: str) -> int | None:
        """The place of a player, in the order of joining; None if the player has not joined."""
        rows = self._run("select place from clueline_play_players where session = ? and player = ?", session, player)
        return int(rows[0][0]) if rows else None

    def join(self, session: str, player: str, most: int) -> int | None:
        """Add a player, unless already there.

        Args:
            session: its id.
            player: id of the player.
            most: how many players the session may have.

        Returns:
            The player's place; None if the session is full.
        """
        while (place := self.place(session, player)) is None:
            # Of two players who join at once, one gets the place, and the other one tries again.
            self._run(
                """insert into clueline_play_players
                    select cast(? as text), cast(? as text), coalesce(max(place) + 1, 0)
                    from clueline_play_players where session = ? having count(*) < ?
                    on conflict do nothing""",
                session, player, session, most,
            )  # fmt: skip
            ((players,),) = self._run("select count(*) from clueline_play_players where session = ?", session)
            if players >= most:
                return self.place(session, player)
        return place

    def add_answer(self, session: str, player: str, step: int, answer: str) -> None:
        """Add an answer durably, unless this step has one already, or the player was erased."""
        self._run(
            """insert into clueline_play_answers
                select session, player, cast(? as integer), cast(? as text)
                from clueline_play_players where session = ? and player = ?
                on conflict do nothing""",
            step, answer, session, player,
        )  # fmt: skip

    def answers(self, session: str, player: str | None = None) -> list[LoggedAnswer]:
        """The answers of a session, or of a player, by place and step."""
        sql = """select place, step, answer from clueline_play_answers join clueline_play_players using (session, player)
            where session = ?"""
        if player is None:
            rows = self._run(f"{sql} order by place, step", session)
        else:
            rows = self._run(f"{sql} and player = ? order by place, step", session, player)
        return [LoggedAnswer(*row) for row in rows]

    def erase(self, session: str, player: str) -> bool:
        """Delete a player with all answers. Returns False if there was no such player."""
        sql = "delete from clueline_play_players where session = ? and player = ? returning place"
        return bool(self._run(sql, session, player))

    def _run(self, sql: str, *parameters: str | int) -> Sequence[tuple[Any, ...]]:
        try:
            with closing(self._connect()) as connection:
                cursor = connection.execute(sql.replace("?", self._mark), parameters)
                return cursor.fetchall() if cursor.description else []
        except self._errors as error:
            raise StoreError(f"the log of people's sessions cannot be used ({error})") from error


def folder_log(folder: Path) -> PlayLog:
    """The log of a store in a folder. Only the owner of its file may read it."""
    path = folder / FILE

    def connect() -> sqlite3.Connection:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma secure_delete = on")  # what is erased is overwritten
        if connection.execute("pragma journal_mode").fetchone() != ("wal",):
            for table in TABLES:  # so a file in this mode has them
                connection.execute(table)
            connection.execute("pragma journal_mode = wal")
        return connection

    return PlayLog(connect, "?", sqlite3.Error)


def postgres_log(connect: Callable[[], Any], errors: type[Exception]) -> PlayLog:
    """The log in tables of a PostgreSQL database.

    Args:
        connect: opens a connection that commits each statement.
        errors: what the driver raises.
    """

    def connect_to_tables() -> Any:
        connection = connect()
        if connection.execute("select to_regclass('clueline_play_answers')").fetchone() == (None,):
            with connection.transaction():
                connection.execute("select pg_advisory_xact_lock(hashtext('clueline tables'))")  # two at once would collide
                for table in TABLES:
                    connection.execute(table)
        return connection

    return PlayLog(connect_to_tables, "%s", errors)
