"""A query that takes too long is ended, says so, and leaves its thread and everybody else's answers alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from dashboard.app import create_app
from dashboard.query_cache import QueryCache
from dashboard.router import draw
from dashboard.settings import Settings
from data.store import Snapshot
from queries.engine import evidence
from queries.parameters import BadRequest
from queries.time_limit import TimeLimitExceeded, check_time_limit

ENDLESS = "select sum(a.range * b.range % 7) from range(500000) a, range(500000) b"


class Sum(msgspec.Struct):
    value: float


def endless_sql(snapshot: Snapshot) -> Sum:
    return Sum(snapshot.rows(ENDLESS)[0][0])


def endless_arrays(snapshot: Snapshot) -> Sum:
    while True:
        check_time_limit()
        time.sleep(0.01)


def quick(snapshot: Snapshot, number: int) -> Sum:
    return Sum(snapshot.rows("select $n + 0", {"n": number})[0][0])


@pytest.fixture
def limited(copied):
    return create_app(Settings(store=str(copied), workers=1, query_seconds=1))


@pytest.mark.parametrize("query", [endless_sql, endless_arrays])
def test_an_endless_query_is_ended(limited, query, caplog):
    service = limited.extensions["clueline"]
    with pytest.raises(BadRequest) as refused:
        service.ask(query)
    assert (refused.value.code, refused.value.status) == ("query_timeout", 503)
    assert "within 1 seconds" in str(refused.value) and "CLUELINE_QUERY_SECONDS" in str(refused.value)
    assert query.__name__ in caplog.text
    assert service.ask(quick, 5).value == 5  # in the same thread, on the same store


@pytest.mark.parametrize("query", [endless_sql, endless_arrays])
def test_others_are_answered_meanwhile_and_afterwards(limited, query):
    service = limited.extensions["clueline"]
    stop = threading.Event()

    def keep_asking(first):
        number = first
        while not stop.is_set():
            assert service.ask(quick, number).value == number
            number += 4
        return number - first

    with ThreadPoolExecutor(6) as pool:
        asking = [pool.submit(keep_asking, first) for first in range(4)]
        slow = [pool.submit(service.ask, query) for _ in range(2)]  # the second one waits for the first
        assert all(isinstance(future.exception(120), BadRequest) for future in slow)
        stop.set()
        assert all(future.result() > 0 for future in asking)


def test_json_and_page_say_that_it_took_too_long(limited, monkeypatch):
    """The metrics of the leaderboard are made to take for ever."""

    def slow(*_):
        while True:
            check_time_limit()
            time.sleep(0.01)

    monkeypatch.setattr(evidence.Evidence, "values", slow)
    client = limited.test_client()
    answer = client.get("/api/v1/leaderboard?dataset=tone")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "query_timeout")
    assert "Choose fewer runs" in answer.json["error"]["message"]
    with limited.test_request_context("/"):
        page = draw({"path": "/", "query": "dataset=tone", "page": True})
    assert "This took too long" in page and "Choose fewer runs" in page
    assert client.get("/api/v1/datasets").status_code == 200


def test_whoever_waits_for_anothers_result_waits_no_longer(tmp_path):
    """In this process, or in another one: caches of one folder share their locks."""
    caches = [QueryCache("filesystem", tmp_path, 2**20) for _ in range(2)]
    computing, release = threading.Event(), threading.Event()

    def compute():
        computing.set()
        release.wait(120)
        return b"late"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(caches[0].get, "key", compute, bytes)
        computing.wait()
        for cache in caches:
            with pytest.raises(TimeLimitExceeded):
                cache.get("key", lambda: b"mine", bytes, 0.1)
        release.set()
        assert first.result() == b"late"
    assert [cache.get("key", lambda: b"mine", bytes, 0.1) for cache in caches] == [b"late"] * 2
