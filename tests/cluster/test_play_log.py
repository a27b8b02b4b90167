"""The log of people's play sessions, on stores of every kind, used by two hosts at once."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from clueline.data.play_sessions.race_of_one_player import Answer, Buzz, Start
from clueline.data.play_sessions.sessions import add_answer, create_session, join, read_state, words_due_to_player
from clueline.data.store import StoreError
from clueline.data.store.play_log import copy_sessions, folder_log
from tests.helpers.bundle_factory import put, write
from tests.helpers.older_play_log import OlderPlayLog, used_by_both, used_further

ANN = "a" * 32


@pytest.fixture
def older(url):
    """A process of the version before, which has made the log of a new store."""
    if url.startswith("postgres"):
        connection, mark = psycopg.connect(url.partition("?")[0], autocommit=True), "%s"
    else:
        Path(url).mkdir()
        connection, mark = sqlite3.connect(f"{url}/people.sqlite", isolation_level=None), "?"
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma journal_mode = wal")
    with closing(connection):
        yield OlderPlayLog(connection, mark)


def test_hosts_share_the_log(store, other_host):
    here, other = store.register.play_log(), other_host.register.play_log()
    here.add_session("s", "{}")
    assert other.session("s") == "{}" and other.session("t") is None
    players = [f"p{index}" for index in range(12)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda index: (here, other)[index % 2].join("s", players[index], 10), range(12)))
    assert sorted(place for place in places if place is not None) == [*range(10)] and places.count(None) == 2
    inside = players[next(index for index, place in enumerate(places) if place == 0)]
    other.add_answer("s", inside, 0, 0, "first")
    here.add_answer("s", inside, 0, 0, "second")
    here.add_answer("s", "nobody", 0, 0, "third")
    assert here.answers("s") == [(0, 0, "first")] and other.player("s", inside) == (0, {0: "first"})
    assert other.erase("s", inside) and here.answers("s") == [] and here.player("s", inside) is None
    assert here.join("s", "later", 10) is None


def test_hosts_share_a_race(store, other_host, tmp_path):
    """A question that begins on one host is read and buzzed on another: the log holds all of the state."""
    put(store, write(tmp_path / "toy"))
    here, other = store.register.play_log(), other_host.register.play_log()
    until = datetime.now(UTC) + timedelta(days=1)
    secret = create_session(here, store.snapshot(), "toy", 2, 5, until, "", "race")
    join(other, secret, ANN)
    add_answer(here, secret, ANN, 0, Start(400))
    assert words_due_to_player(other, secret, ANN, 1, 0).words
    add_answer(other, secret, ANN, 1, Buzz(1))
    assert words_due_to_player(here, secret, ANN, 1, 0).over
    assert add_answer(here, secret, ANN, 1, Buzz(3)).step == 2
    assert add_answer(here, secret, ANN, 2, Answer("Rome", 0.5)).last == read_state(other, secret, ANN).last


def test_a_session_is_not_replaced(store):
    log = store.register.play_log()
    log.add_session("s", "{}")
    with pytest.raises(StoreError):
        log.add_session("s", "[]")
    assert log.session("s") == "{}"


def test_a_log_is_copied_to_a_store_of_any_kind(store, tmp_path):
    """Copy to a file and back. The store still has both sessions, so the erased player does not return."""
    log = store.register.play_log()
    for session in ("s", "t"):
        log.add_session(session, "{}")
        log.join(session, "p", 10)
        log.add_answer(session, "p", 0, 0, '{"guess": "café"}')
    saved = folder_log(tmp_path)
    copy_sessions(log, saved)
    assert saved.tables() == log.tables() and len(saved.tables().answers) == 2
    log.erase("s", "p")
    copy_sessions(saved, log)
    assert log.tables().answers == [("t", "p", 0, '{"guess": "café"}')]


def test_hosts_give_each_place_once_while_players_are_erased(store, other_host):
    """Sixty people join on two hosts, and half of them are erased at once."""
    logs = store.register.play_log(), other_host.register.play_log()
    logs[0].add_session("s", "{}")

    def join_and_leave(number):
        here, other = logs if number % 2 else reversed(logs)
        place = here.join("s", f"p{number}", 40)
        if place is not None and number % 4 < 2:
            assert other.erase("s", f"p{number}")
        return place

    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(join_and_leave, range(60)))
    assert sorted(place for place in places if place is not None) == [*range(40)]
    stayed = sorted(("s", f"p{number}", place) for number, place in enumerate(places) if place is not None and number % 4 >= 2)
    assert logs[1].tables().present_players() == stayed
    assert [row[2:] for row in logs[0].overview()] == [(40, 0)]


def test_taken_places_are_copied_to_a_store_of_any_kind(store, tmp_path):
    log = store.register.play_log()
    log.add_session("s", "{}")
    for player in "abc":
        log.join("s", player, 5)
    log.erase("s", "c")
    saved = folder_log(tmp_path / "saved")
    copy_sessions(log, saved)
    assert saved.tables() == log.tables() and saved.tables().players == [("s", "a", 0), ("s", "b", 1), ("s", "erased 2", 2)]
    assert saved.join("s", "c", 5) == 3


def test_a_log_of_the_version_before_is_used_further(older, store):
    used_further(older, store.register.play_log())


def test_a_host_of_the_version_before_can_use_the_log_too(older, store):
    used_by_both(older, store.register.play_log())


def test_a_log_of_the_version_before_is_copied(older, store, tmp_path):
    for player in "abc":
        older.join("s", player, 5)
    older.erase("s", "b")
    saved = folder_log(tmp_path / "saved")
    copy_sessions(store.register.play_log(), saved)
    assert saved.tables().players == [("s", "a", 0), ("s", "c", 2)] and saved.join("s", "b", 5) == 3
