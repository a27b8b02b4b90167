"""SQLite databases of buzzpoints."""

import sqlite3
import time
from contextlib import closing

import pytest

from clueline.data.importing.report import Refused
from clueline.data.readers.buzzpoints import OTHER_TEAM
from clueline.data.readers.shared.quizbowl_games import ANSWERED, NO_POSITION, SECOND_BUZZ
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.buzzpoints_database import ROWS, SCHEMA, write_database

ANN = "[read slowly] Ann (“AN”) saw it. (*) She never came back home again."
BUZZES = "select question_id, match_id, word, clue, correct from buzzes order by all"


@pytest.fixture
def write(tmp_path):
    return lambda **changes: write_database(tmp_path / "buzzes.db", **changes)


def test_questions_and_games_of_a_database_are_read(tried, write):
    report = tried(write())
    assert tried.rows("select question_id, text, answer, category, subcategory from questions order by all") == [
        ("11", ANN, "<b><u>Ann</u></b>", "Literature", "Poems"),
        ("21", "This unit of force is Bob.", "Bob", "Science", None),
        ("22", "This SI unit of force is Bob.", "Bob", "Science", None),
    ]  # fmt: skip
    assert tried.rows("select question_id, clue, word_end from clues order by all") == [
        ("11", 0, 3), ("11", 1, 9), ("21", 0, 6), ("22", 0, 7),
    ]  # fmt: skip
    assert tried.rows("select dataset, title, kind, source from datasets") == [
        ("autumn-open", "Autumn Open", "incremental", "Buzzpoints of Site North, Site South")
    ]

    assert tried.rows(BUZZES) == [
        ("11", "game 1", 3, 1, False), ("11", "game 1", 5, 1, True), ("21", "game 1", 6, 0, False), ("22", "game 2", 4, 0, True),
    ]  # fmt: skip
    heard = "select question_id, match_id, heard_words, count(*), count(ended_by) from exposures group by all order by all"
    assert tried.rows(heard) == [("11", "game 1", 6, 2, 2), ("21", "game 1", None, 2, 0), ("22", "game 2", 5, 2, 2)]
    assert report.repaired == {
        "buzzes past the end of the question, moved to its end": 1,
        "games that read more tossups than their packet has, counted as having read the packet": 1,
    }


def test_teams_have_pseudonyms_unless_names_are_kept(store, write):
    path = write()
    bundles.put(store, path)
    teams = "select distinct team from exposures where dataset = $$autumn-open$$ order by 1"
    assert rows(store, teams) == [("Team 1",), ("Team 2",), ("Team 3",), ("Team 4",)]
    before = bundles.content(store)
    assert "dataset autumn-open: 3 questions, already there" in bundles.put(store, path).lines
    assert bundles.content(store) == before
    bundles.put(store, path, names=True, dataset="named")
    named = rows(store, "select distinct team from exposures where dataset = 'named' order by 1")
    assert named == [("Elm",), ("Fir",), ("Oak A (Site North, 1)",), ("Oak A (Site South, 3)",)]
    texts = str(bundles.content(store))
    assert not any(name in texts for _, _, name, _ in ROWS["player"])


def test_buzzes_are_repaired_by_rules(tried, write):
    extra = [
        (5, 1, 1, 11, 3, -5),  # the first buzz again
        (6, 2, 1, 21, 2, 0), (7, 2, 1, 21, 4, 10),  # a team buzzes twice: the correct buzz counts
        (8, 3, 2, 22, 6, 15),  # correct after the other team's correct buzz
        (9, 3, 2, 22, None, 0), (10, 3, 2, 22, "end", 0), (11, 3, 2, 22, 2, None), (12, 3, 2, 22, -1, 0),
        (13, 77, 1, 11, 1, 0), (14, 1, 77, 11, 1, 0), (15, 1, 1, 77, 1, 0), (16, 1, 2, 22, 1, 0),
        (17, 4, 2, 11, 1, 0),  # on a tossup of another packet
    ]  # fmt: skip
    report = tried(write(buzz=[*ROWS["buzz"], *extra]))
    assert report.repaired == {
        "buzzes past the end of the question, moved to its end": 1,
        "games that read more tossups than their packet has, counted as having read the packet": 1,
        "buzzes that are in the file twice, counted once": 1,
        f"left out: {SECOND_BUZZ}": 1,
        f"left out: {ANSWERED}": 1,
        f"left out: {NO_POSITION}": 4,
        "buzzes whose game, player or tossup is not in the file, left out": 3,
        f"left out: {OTHER_TEAM}": 1,
        "buzzes on tossups beyond those that their game read; both teams count as having heard these": 1,
    }
    left_out = "select question_id, match_id, reason, plays from left_out_plays order by all"
    assert tried.rows(left_out) == [
        ("21", "game 1", SECOND_BUZZ, 1), ("22", "game 2", OTHER_TEAM, 1), ("22", "game 2", NO_POSITION, 4),
        ("22", "game 2", ANSWERED, 1),
    ]  # fmt: skip
    assert tried.rows(BUZZES) == [
        ("11", "game 1", 3, 1, False), ("11", "game 1", 5, 1, True), ("11", "game 2", 1, 0, False), ("21", "game 1", 4, 0, True),
        ("21", "game 1", 6, 0, False), ("22", "game 2", 4, 0, True),
    ]  # fmt: skip
    assert tried.rows("select heard_words from exposures where question_id = '21' order by 1") == [(5,), (6,)]


def test_text_and_real_cells_are_read_as_numbers(tried, write):
    typeless = SCHEMA.replace(" integer", "").replace("primary key", "")
    tried(write(schema=typeless, buzz=[(1, "1", 1.0, "11", "3", "-5")], game=[("1", "1", "2", "1", 2.0)]))
    assert tried.rows(BUZZES) == [("11", "game 1", 3, 1, False)]
    assert tried.rows("select count(*) from exposures") == [(4,)]


def test_unusual_values_are_warned_of(tried, write):
    report = tried(write(buzz=[(1, 1, 1, 11, 3, 7), (2, 2, 1, 21, 3, 0)]))
    assert report.warnings == ["buzzes.db: buzzes with the value 7, which count as correct: 1"]


def test_each_question_set_is_a_dataset(store, write, tmp_path):
    changes = {
        "question_set": [(1, "Autumn Open", None, ""), (2, "Autumn Open", None, "")],
        "question_set_edition": [(1, 1, "a", "a", None), (2, 2, "b", "b", None)],
    }
    bundles.put(store, write(**changes))
    assert rows(store, "select dataset, count(*) from questions group by 1 order by 1") == [
        ("autumn-open-1", 2),
        ("autumn-open-2", 1),
    ]
    report = bundles.put(store, tmp_path / "buzzes.db", dataset="all")
    assert "dataset all: 3 questions imported" in report.lines


def test_an_older_schema_is_read(tried, tmp_path):
    old = SCHEMA.replace("question_set_edition_id", "question_set_id").replace(
        "create table tossup (id integer primary key, question_id integer, question text, answer text, answer_sanitized text)",
        "create table tossup (id integer primary key, packet_id integer, question_number integer, question text, answer text, "
        "category text, subcategory text)",
    )
    for table in ("packet_question", "question", "bonus", "question_set_edition"):
        old = "\n".join(line for line in old.splitlines() if not line.startswith(f"create table {table} "))
    none = {table: [] for table in ("packet_question", "question", "bonus", "question_set_edition")}
    tossups = [(11, 1, 1, "One two three.", "x", "Science", "Physics"), (12, 1, 2, "Four five.", "y", "Science", "Physics")]
    packets = [(1, 1, "Packet A")]
    path = write_database(tmp_path / "old.db", old, **none, tossup=tossups, packet=packets, buzz=[(1, 1, 1, 12, 1, 10)])
    tried(path)
    assert tried.rows("select dataset, question_id, category from questions order by all") == [
        ("autumn-open", "11", "Science"), ("autumn-open", "12", "Science"),
    ]  # fmt: skip
    assert tried.rows("select question_id, count(*) from exposures group by all order by all") == [("11", 2), ("12", 2)]


def with_statement(path, sql):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(sql)
    return path


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_bytes(b""), "empty (0 bytes)"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged or cut short"),
        (lambda path: path.write_bytes(path.read_bytes()[:50] + b"x" * 5000), "damaged or cut short"),
        (lambda path: with_statement(path, "drop table buzz"), "not one of buzzpoints: it lacks buzz(buzz_position, game_id"),
        (lambda path: with_statement(path, "alter table game drop column tossups_read"), "it lacks game(tossups_read)"),
        (lambda path: with_statement(path, "delete from tossup"), "no tossups"),
    ],
)
def test_files_that_cannot_be_used_are_refused(store, write, spoil, reason):
    path = write()
    spoil(path)
    refused = bundles.refusal(store, path)
    (problem,) = refused.problems
    assert reason in problem.reason


def test_a_file_with_changes_in_a_wal_is_refused(store, write):
    """While it is open, a program that writes in SQLite's WAL mode leaves its last changes in a second file."""
    path = write()
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("insert into buzz values (9, 2, 1, 21, 3, 10)")
        database.commit()
        with pytest.raises(Refused, match=r"buzzes.db: its latest changes are in buzzes.db-wal next to it"):
            bundles.put(store, path)
    bundles.put(store, path)
    assert ("21", "game 1", 3, 0, True) in rows(store, BUZZES)


def test_duplicate_numbers_of_tossups_are_counted(tried, write):
    report = tried(write(packet_question=[*ROWS["packet_question"], (5, 1, 1, 2), (6, 1, 2, 2)]))
    assert report.repaired["tossups with the number of another one of their packet, which counts instead"] == 1


def test_names_of_tables_can_have_capitals(tried, write):
    tried(write(schema=SCHEMA.replace("table buzz ", "table Buzz ").replace("buzz_position", "Buzz_Position")))
    assert len(tried.rows(BUZZES)) == 4


def test_nothing_is_written_next_to_the_file(store, write):
    path = with_statement(write(), "pragma user_version = 3")
    before = path.read_bytes(), sorted(path.parent.iterdir())
    bundles.put(store, path)
    assert (path.read_bytes(), [name for name in sorted(path.parent.iterdir()) if name.name != "store"]) == before


def test_a_season_takes_seconds(store, write):
    text = " ".join(f"word{n}{'.' if n % 20 == 19 else ''}".capitalize() for n in range(120))
    tossups = range(1, 1001)
    path = write(
        question=[(n, "", "", "", "Science", "") for n in tossups],
        tossup=[(n, n, f"{text} {n}.", "x", "x") for n in tossups],
        packet=[(n, 1, f"{n}") for n in range(50)],
        packet_question=[(n, (n - 1) // 20, (n - 1) % 20 + 1, n) for n in tossups],
        round=[(n, 1, n, n) for n in range(50)],
        game=[(n, n % 50, 20, 1, 2) for n in range(1000)],
        buzz=[
            (2 * n + side, 1 + side, n // 20, (n // 20) % 50 * 20 + n % 20 + 1, n % 90 + side, 10 if side else -5)
            for n in range(20_000) for side in (0, 1)
        ],
    )  # fmt: skip
    start = time.process_time()
    bundles.put(store, path)
    assert time.process_time() - start < 30
    assert rows(store, "select count(*), count(distinct question_id) from buzzes") == [(40_000, 1000)]
