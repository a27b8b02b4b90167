"""The log of people's play sessions in a file: each place is given once, and open connections never hide what happened."""

import gc
import sqlite3
from contextlib import closing

import pytest

from clueline.data.store import StoreError
from clueline.data.store.play_log import folder_log
from tests.helpers.older_play_log import OlderPlayLog, used_by_both, used_further

KEY = "0123456789abcdef" * 4


@pytest.fixture
def older(tmp_path):
    """A process of the version before, which has made a log."""
    with closing(sqlite3.connect(tmp_path / "people.sqlite", isolation_level=None)) as connection:
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma journal_mode = wal")
        yield OlderPlayLog(connection)


@pytest.fixture
def log(tmp_path):
    made = folder_log(tmp_path)
    made.add_session("s", "{}")
    made.join("s", "p", 10)
    return made


def test_a_file_put_in_place_of_another_is_used(log, tmp_path):
    other = folder_log(tmp_path / "other")
    other.add_session("t", "[]")
    del other
    gc.collect()
    for path in tmp_path.glob("people.sqlite-*"):
        path.unlink()
    (tmp_path / "other" / "people.sqlite").replace(tmp_path / "people.sqlite")
    assert log.session("s") is None and log.session("t") == "[]"


def test_an_answer_is_seen_by_whoever_opens_the_file_next(log, tmp_path):
    assert log.player("s", "p") == (0, {}) and log.player("s", "q") is None
    log.add_answer("s", "p", 0, 3, "first")
    assert folder_log(tmp_path).answers("s") == [(0, 3, "first")]
    log.add_answer("s", "p", 0, 4, "second")
    assert [folder_log(tmp_path).player("s", "p", since=step) for step in (0, 4, 5)] == [
        (0, {3: "first", 4: "second"}), (0, {4: "second"}), (0, {}),
    ]  # fmt: skip


def test_a_statement_that_fails_leaves_the_log_usable(log):
    with pytest.raises(StoreError):
        log.add_session("s", "[]")
    assert log.session("s") == "{}"


def test_a_log_that_nobody_uses_leaves_no_file_behind(tmp_path):
    log = folder_log(tmp_path)
    log.add_session("s", "{}")
    del log
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["people.sqlite"]


def test_a_place_is_given_once(log):
    assert log.join("s", "q", 4) == 1
    assert log.erase("s", "q") and not log.erase("s", "q")
    assert log.place("s", "q") is None
    assert log.join("s", "r", 4) == 2  # not the place of another
    assert log.join("s", "q", 4) == 3  # nor one's own
    assert log.erase("s", "q") and log.erase("s", "p")
    assert log.join("s", "q", 4) is None and log.join("s", "new", 4) is None
    assert log.join("s", "r", 4) == 2


def test_if_all_players_are_erased_no_place_is_given_again(log):
    assert log.erase("s", "p")
    assert (log.join("s", "p", 2), log.join("s", "q", 2)) == (1, None)
    assert [row[2:] for row in log.overview()] == [(2, 0)]


def test_nothing_of_an_erased_player_stays_but_the_place(log, tmp_path):
    """Whatever is on the disk, while the log is in use and has open connections."""
    guess = "a guess that nobody else makes"
    log.add_answer("s", KEY, log.join("s", KEY, 10), 0, guess)
    log.join("s", "r", 10)

    def on_disk(text):
        return any(text.encode() in path.read_bytes() for path in tmp_path.iterdir())

    assert on_disk(KEY) and on_disk(guess)
    assert log.erase("s", KEY)
    assert not on_disk(KEY) and not on_disk(guess)
    assert log.tables()[1:] == ([("s", "erased 1", 1), ("s", "p", 0), ("s", "r", 2)], [])


def test_an_answer_during_an_erasure_reaches_nobody_else(log):
    place = log.place("s", "p")
    log.erase("s", "p")
    log.join("s", "p", 10)
    log.add_answer("s", "p", place, 5, "late")
    assert log.player("s", "p") == (1, {})


def test_a_log_of_the_version_before_is_used_further(older, tmp_path):
    used_further(older, folder_log(tmp_path))


def test_a_process_of_the_version_before_can_use_the_log_too(older, tmp_path):
    used_by_both(older, folder_log(tmp_path))


def test_a_log_of_the_version_before_is_not_changed_by_reading(older, tmp_path):
    older.join("s", "a", 5)
    older.connection.close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    log = folder_log(tmp_path)
    assert log.tables() == ([("s", "{}")], [("s", "a", 0)], []) and len(log.overview()) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
