"""PostgreSQL stops, hangs and comes back: readers carry on, writers wait, and nothing is lost."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import psycopg
import pytest

from clueline.data.store import StoreError, open_store
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.tokens_and_readers import TokenError, Tokens
from tests.helpers.paths import ROOT
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.store_notes import note, notes
from tests.helpers.stores import seed_without_models
from tests.helpers.waiting import wait_until


@pytest.fixture
def server():
    """A PostgreSQL server that a test can stop."""
    started = PostgresServer()
    yield started
    started.remove()


@pytest.fixture
def url(server, tmp_path):
    return f"{server.new_database()}?objects={tmp_path / 'objects'}&local={tmp_path / 'local'}"


def test_readers_go_on_while_the_server_is_away(server, store):
    store.write(note("a"))
    assert (notes(store), store.register.age()) == (["a"], 0.0)
    server.stop()
    for _ in range(20):
        assert notes(store) == ["a"]
    wait_until(lambda: store.register.age() > 1)
    server.start()
    wait_until(lambda: store.register.age() == 0)
    other = open_store(store.url)
    other.write(note("b"))
    other.close()
    assert notes(store) == ["a", "b"]


def test_readers_go_on_while_the_server_hangs(server, store):
    store.write(note("a"))

    def seconds_of_reading():
        began = time.monotonic()
        for _ in range(100):
            assert notes(store) == ["a"]
        return time.monotonic() - began

    before = seconds_of_reading()
    server.pause()
    hanging = seconds_of_reading()
    server.resume()
    wait_until(lambda: store.register.age() == 0)
    # The first reader waits half a second; the others do not wait.
    assert hanging < before + 30
    assert store.register.latest() == store.pointer()


def test_a_reader_that_never_reached_the_server_gets_an_error(server, store, monkeypatch):
    store.write(note("a"))
    server.stop()
    monkeypatch.setattr("clueline.data.store.postgres_register.RECONNECT", 0.5)
    with pytest.raises(StoreError, match="PostgreSQL server cannot be reached"):
        open_store(store.url).snapshot()
    with pytest.raises(TokenError, match="PostgreSQL server cannot be reached"):
        Tokens(store.register).all()


def test_a_writer_waits_for_the_server(server, store):
    store.write(note("a"))
    server.stop()
    writer = threading.Thread(target=store.write, args=(note("b"),))
    writer.start()
    time.sleep(0.5)
    assert writer.is_alive()
    server.start()
    writer.join(120)
    assert notes(open_store(store.url)) == ["a", "b"]


def test_a_writer_whose_lock_is_lost_writes_again(server, store):
    """Another writer publishes a version in between, so the first writer must start again from that version."""
    store.write(note("a"))
    began = []

    def change(connection):
        note("c")(connection)
        began.append(True)
        if len(began) == 1:
            server.restart()
            other = open_store(store.url, threads=1)
            other.write(note("b"))
            other.close()

    store.write(change)
    assert len(began) == 2
    assert notes(open_store(store.url)) == ["a", "b", "c"]


def test_an_update_whose_reply_was_lost_is_not_repeated(server, store, monkeypatch):
    store.write(note("a"))
    execute = psycopg.Connection.execute
    lost = []

    def lose(connection, query, *args, **kwargs):
        cursor = execute(connection, query, *args, **kwargs)
        if str(query).startswith("update clueline_register") and not lost:
            lost.append(True)
            server.restart()
            raise psycopg.OperationalError("the answer was lost")
        return cursor

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", lose)
        store.write(note("b"))
    assert lost
    assert notes(open_store(store.url)) == ["a", "b"]
    assert store.version().startswith("2-")


def test_an_error_of_a_change_is_raised_after_a_lost_lock(server, store):
    store.write(note("a"))
    tries = []

    def once(connection):
        tries.append(True)
        if len(tries) == 1:
            server.restart()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(once)
    assert (len(tries), notes(open_store(store.url))) == (2, ["a"])


KILLED = """
import os, signal, sys
from clueline.data.store import open_store
store = open_store(sys.argv[1], threads=1)
def change(connection):
    print("locked", flush=True)
    signal.pause()
store.write(change)
"""


def test_a_killed_writer_does_not_block_others(server, store):
    store.write(note("a"))
    killed = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED), store.url], cwd=ROOT, stdout=subprocess.PIPE)
    assert killed.stdout.readline() == b"locked\n"
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    store.write(note("b"))
    assert notes(store) == ["a", "b"]


def test_withdrawals_through_a_restart_count_once(server, store):
    seed_without_models(store)
    runs = [row[0] for row in store.snapshot().rows("select run from runs order by position")]
    began = time.monotonic()
    assert withdraw(store, runs[0], None)
    pause = max(0.3, 4 * (time.monotonic() - began))  # otherwise a busy machine never finishes a withdrawal between two restarts
    stop = threading.Event()

    def disturb():
        while not stop.is_set():
            server.restart()
            stop.wait(pause)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        for run in runs[1:10]:
            assert withdraw(store, run, None)
    finally:
        stop.set()
        disturbing.join()
    wait_until(lambda: store.register.age() == 0)
    marked = {run for (run,) in store.snapshot().rows("select run from runs where withdrawn_at is not null")}
    assert marked == {*runs[:10]}
