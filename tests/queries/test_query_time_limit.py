"""A query that exceeds its time limit ends soon, in DuckDB and in computations on arrays, and others continue."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from clueline.queries.query_time_limit import Abandoned, TimeLimitExceeded, check_time_limit, time_limit

# Takes hours: a product of 250 billion rows.
ENDLESS = "select sum(a.range * b.range % 7) from range(500000) a, range(500000) b"


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


def test_duckdb_is_interrupted(connection):
    with pytest.raises(TimeLimitExceeded), time_limit(0.2, connection.interrupt):
        connection.execute(ENDLESS).fetchall()
    assert connection.execute("select 1").fetchall() == [(1,)]  # the connection still works


def test_a_statement_that_begins_late_is_interrupted_too(connection):
    with pytest.raises(TimeLimitExceeded), time_limit(0.1, connection.interrupt):
        time.sleep(0.3)
        connection.execute(ENDLESS).fetchall()


def test_only_the_query_whose_time_is_up_is_ended(connection):
    """Each thread has its own cursor of the connection."""
    going_on = threading.Event()

    def short():
        cursor = connection.cursor()
        with time_limit(3600, cursor.interrupt):
            going_on.set()
            for _ in range(200):
                cursor.execute("select count(*) from range(1000000)").fetchall()
        return True

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(short)
        going_on.wait()
        with pytest.raises(TimeLimitExceeded), time_limit(0.1, connection.interrupt):
            connection.execute(ENDLESS).fetchall()
        assert other.result()


def test_arrays_are_ended_at_their_next_step(connection):
    with pytest.raises(TimeLimitExceeded), time_limit(0.1, connection.interrupt):
        while True:
            check_time_limit()
            time.sleep(0.01)


def test_an_abandoned_query_is_ended(connection):
    left = threading.Event()
    left.set()
    with pytest.raises(Abandoned), time_limit(3600, connection.interrupt, left.is_set):
        connection.execute(ENDLESS).fetchall()
    with pytest.raises(Abandoned), time_limit(3600, connection.interrupt, left.is_set):
        while True:
            check_time_limit()
            time.sleep(0.01)
    assert connection.execute("select 1").fetchall() == [(1,)]


def test_checks_pass_without_a_limit_and_within_one(connection):
    check_time_limit()
    with time_limit(3600, connection.interrupt):
        check_time_limit()
    check_time_limit()


def test_no_thread_is_left_behind(connection):
    before = threading.active_count()
    for _ in range(20):
        with time_limit(3600, connection.interrupt):
            pass
    with pytest.raises(ZeroDivisionError), time_limit(3600, connection.interrupt):
        print(1 // 0)
    assert threading.active_count() == before
