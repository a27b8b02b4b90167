"""What processes of the version before do to the log of people's sessions: their tables, and their statements word for word."""

TABLES = (
    "create table clueline_play_sessions (session text primary key, document text not null)",
    """create table clueline_play_players (
        session text not null references clueline_play_sessions, player text not null,
        place integer not null,     -- order of joining, from 0
        primary key (session, player), unique (session, place))""",
    """create table clueline_play_answers (
        session text not null, player text not null,
        step integer not null,      -- as the mode of the session numbers what the player says, from 0
        answer text not null,       -- JSON
        primary key (session, player, step),
        foreign key (session, player) references clueline_play_players on delete cascade)""",
)


class OlderPlayLog:
    """Uses a log as the version before does, which deletes the whole row of a player who is erased.

    The log has a session ``s``.

    Args:
        connection: commits each statement. It is to a database without tables.
        mark: placeholder of a parameter in SQL.
    """

    def __init__(self, connection, mark="?"):
        self.connection, self.mark = connection, mark
        for statement in (*TABLES, "insert into clueline_play_sessions values ('s', '{}')"):
            connection.execute(statement)

    def run(self, sql, *parameters):
        cursor = self.connection.execute(sql.replace("?", self.mark), parameters)
        return cursor.fetchall() if cursor.description else []

    def place(self, session, player):
        rows = self.run("select place from clueline_play_players where session = ? and player = ?", session, player)
        return rows[0][0] if rows else None

    def join(self, session, player, most):
        self.run(
            """insert into clueline_play_players
                select cast(? as text), cast(? as text), coalesce(max(place) + 1, 0)
                from clueline_play_players where session = ? having count(*) < ?
                on conflict do nothing""",
            session, player, session, most,
        )  # fmt: skip
        return self.place(session, player)

    def add_answer(self, session, player, step, answer):
        self.run(
            """insert into clueline_play_answers
                select session, player, cast(? as integer), cast(? as text)
                from clueline_play_players where session = ? and player = ?
                on conflict do nothing""",
            step, answer, session, player,
        )  # fmt: skip

    def answers(self, session):
        return self.run(
            """select place, step, answer from clueline_play_answers join clueline_play_players using (session, player)
            where session = ? order by place, step""",
            session,
        )

    def erase(self, session, player):
        sql = "delete from clueline_play_players where session = ? and player = ? returning place"
        return bool(self.run(sql, session, player))


def used_further(older, log):
    """Check that a log of the version before is used further.

    Nobody knows which places were erased there, but those below the greatest one are not given again.
    """
    for player in "abc":
        older.join("s", player, 5)
    older.add_answer("s", "a", 0, "kept")
    older.erase("s", "b")
    assert [row[2:] for row in log.overview()] == [(3, 1)] and log.place("s", "c") == 2
    assert log.join("s", "b", 5) == 3
    assert log.erase("s", "b") and log.erase("s", "c")
    assert log.join("s", "b", 5) == 4 and log.join("s", "e", 5) is None
    assert log.answers("s") == [(0, 0, "kept")]


def used_by_both(older, log):
    """Check that processes of both versions can use a log at once."""
    assert (log.join("s", "a", 4), older.join("s", "b", 4)) == (0, 1)
    log.add_answer("s", "b", 1, 0, "kept")
    assert log.erase("s", "a") and log.erase("s", "b")
    assert older.place("s", "a") is None and older.answers("s") == []
    assert (older.join("s", "a", 4), older.join("s", "c", 4), older.join("s", "d", 4)) == (2, 3, None)
    older.add_answer("s", "a", 0, "kept")
    assert older.erase("s", "a") and log.answers("s") == [] and log.player("s", "a") is None
