"""A buzzpoints database in its newest schema, written for this project. Databases in older schemas are derived from it."""

import sqlite3
from contextlib import closing

SCHEMA = """
create table question_set (id integer primary key, name text, slug text, difficulty text);
create table question_set_edition (id integer primary key, question_set_id integer, name text, slug text, date date);
create table packet (id integer primary key, question_set_edition_id integer, name text);
create table packet_question (id integer primary key, packet_id integer, question_number integer, question_id integer);
create table question (id integer primary key, slug text, metadata text, author text, category text, subcategory text);
create table tossup (id integer primary key, question_id integer, question text, answer text, answer_sanitized text);
create table bonus (id integer primary key, question_id integer, leadin text);
create table tournament (id integer primary key, name text, slug text, question_set_edition_id integer, level text);
create table round (id integer primary key, tournament_id integer, number integer, packet_id integer);
create table team (id integer primary key, tournament_id integer, name text, slug text);
create table player (id integer primary key, team_id integer, name text, slug text);
create table game (id integer primary key, round_id integer, tossups_read integer, team_one_id integer, team_two_id integer);
create table buzz (id integer primary key, player_id integer, game_id integer, tossup_id integer, buzz_position integer,
    value integer);
"""
# A set in two editions that share question 2, whose text was edited for the second edition. Eight, six and seven words.
ROWS = {
    "question_set": [(1, "Autumn Open", "autumn-open", "Easy")],
    "question_set_edition": [(1, 1, "First", "first", None), (2, 1, "Second", "second", None)],
    "packet": [(1, 1, "Packet A"), (2, 2, "Packet B")],
    "packet_question": [(1, 1, 1, 1), (2, 1, 2, 2), (3, 2, 1, 2), (4, 1, 1, 9)],
    "question": [
        (1, "ann", "Lit", "Me", "Literature", "Poems"), (2, "bob", "Sci", "Me", "Science", None), (9, "b", "", "", None, None),
    ],
    "bonus": [(1, 9, "For ten points each")],
    "tossup": [
        (11, 1, "[read slowly] <em>Ann</em> (“AN”) saw&nbsp;it. (*) She never came back home again.", "<b><u>Ann</u></b>", "Ann"),
        (21, 2, "This unit of force is Bob.", "Bob", "Bob"), (22, 2, "This SI unit of force is Bob.", "Bob", "Bob"),
    ],
    "tournament": [(1, "Site North", "north", 1, "College"), (2, "Site South", "south", 2, "College")],
    "round": [(1, 1, 1, 1), (2, 2, 1, 2)],
    "team": [(1, 1, "Oak A", "oak-a"), (2, 1, "Elm", "elm"), (3, 2, "Oak A", "oak-a"), (4, 2, "Fir", "fir")],
    "player": [(1, 1, "Pat Doe", "pat"), (2, 2, "Kim Roe", "kim"), (3, 3, "Lee Poe", "lee"), (4, 4, "Max Moe", "max")],
    "game": [(1, 1, 2, 1, 2), (2, 2, 20, 3, 4)],
    "buzz": [(1, 1, 1, 11, 3, -5), (2, 2, 1, 11, 5, 15), (3, 1, 1, 21, 99, 0), (4, 4, 2, 22, 4, 10)],
}  # fmt: skip


def write_database(path, schema=SCHEMA, **changes):
    """Write the database, with changed rows for some tables, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(schema)
        for table, rows in (ROWS | changes).items():
            for row in rows:
                database.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)
    return path
