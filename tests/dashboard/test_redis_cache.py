"""Results in Redis: shared by processes, and no problem for anybody when Redis is gone, hangs or refuses."""

import hashlib
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import pytest
import redis

from dashboard import cache as result_cache
from dashboard.app import create_app
from dashboard.cache import ResultCache
from dashboard.settings import Settings
from data.store import Snapshot
from tests.helpers.redis_server import PROGRAM, start_redis
from tests.helpers.waiting import wait_until

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no redis-server here")
THREADS = 8


class Counted(msgspec.Struct):
    number: int
    version: str


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def redis_server(tmp_path):
    server = start_redis(tmp_path)
    yield server
    server.stop()


def served(store, server):
    return create_app(Settings(store=str(store), workers=1, cache=server.url))


def computed(cache, key):
    """Return whether the cache had to compute this key."""
    calls = []

    def compute():
        calls.append(key)
        return b"value of " + key.encode()

    assert cache.get(key, compute, bytes) == b"value of " + key.encode()
    return bool(calls)


def test_redis_keeps_results_for_other_processes(redis_server, tmp_path):
    first = ResultCache(redis_server.url, tmp_path / "first", 2**20)
    assert first.get("key", lambda: b"computed", bytes) == b"computed"
    second = ResultCache(redis_server.url, tmp_path / "second", 2**20)
    assert second.get("key", lambda: b"again", bytes) == b"computed"
    (name,) = redis_server.client.keys()
    assert name.startswith(b"clueline:") and 0 < redis_server.client.ttl(name) <= result_cache.TIME_TO_LIVE
    assert (first.failures, second.failures) == (0, 0)


COMPUTED = []


def counted(snapshot: Snapshot, number: int) -> Counted:
    COMPUTED.append(number)
    return Counted(number, snapshot.version)


def test_a_server_with_redis_answers_and_caches(redis_server, copied):
    """Every cache miss used to be an error 500."""
    app = served(copied, redis_server)
    client, service = app.test_client(), app.extensions["clueline"]
    for path in ("/api/v1/datasets", "/api/v1/leaderboard?dataset=tone", "/"):
        assert client.get(path).status_code == 200
    COMPUTED.clear()
    assert [service.ask(counted, 5).number for _ in range(3)] == [5, 5, 5]
    assert COMPUTED == [5]
    assert redis_server.client.dbsize() > 1


def test_code_planted_in_redis_is_never_run(redis_server, tmp_path):
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    decode = partial(msgspec.msgpack.decode, type=Counted)
    good = msgspec.msgpack.encode(Counted(1, "v"))
    assert cache.get("key", lambda: good, decode).number == 1
    (name,) = redis_server.client.keys()
    for planted in (pickle.dumps(Trap(tmp_path / "sprung")), b"!" + pickle.dumps(Trap(tmp_path / "sprung")), b"", b"\xff" * 40):
        redis_server.client.set(name, planted)
        assert cache.get("key", lambda: good, decode).number == 1
        assert redis_server.client.get(name) == result_cache.Bytes().dumps(good)
    assert not (tmp_path / "sprung").exists()


def test_a_redis_that_goes_away_is_never_an_error(redis_server, copied, caplog):
    """Results are computed, failures are counted and logged once, and nobody waits for the connection repeatedly."""
    client = served(copied, redis_server).test_client()
    before = client.get("/api/v1/leaderboard?dataset=tone").json
    redis_server.stop()
    for _ in range(3):
        assert client.get("/api/v1/leaderboard?dataset=tone").json == before
    assert client.get("/?dataset=tone").status_code == 200
    records = [record.getMessage() for record in caplog.records if record.name == "dashboard.cache"]
    assert len(records) == 1 and "the cache failed" in records[0]


def test_redis_failures_are_counted_then_retried(redis_server, tmp_path, monkeypatch):
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    redis_server.client.set("clueline:" + hashlib.sha256(b"key").hexdigest(), result_cache.Bytes().dumps(b"kept"))
    monkeypatch.setattr(result_cache, "PAUSE", 0.0)
    redis_server.client.config_set("requirepass", "secret")  # from now on, Redis refuses all our commands
    fresh = ResultCache(redis_server.url, tmp_path, 2**20)
    assert fresh.get("key", lambda: b"computed", bytes) == b"computed"
    assert fresh.failures == 4  # three reads and a write
    redis.Redis.from_url(redis_server.url, password="secret").config_set("requirepass", "")
    assert fresh.get("key", lambda: b"computed", bytes) == cache.get("key", lambda: b"", bytes) == b"kept"


def test_a_full_redis_is_never_an_error(redis_server, tmp_path):
    """A Redis that may not evict anything refuses new results and still returns those it has."""
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    assert computed(cache, "kept")
    redis_server.client.config_set("maxmemory-policy", "noeviction")
    redis_server.client.config_set("maxmemory", 1)
    assert computed(cache, "new") and cache.failures == 1


def ask_everything(client, went_wrong, seconds, stop):
    """Ask for known and new results until told to stop. Record bad answers and how long each took."""
    number = 0
    while not stop.is_set():
        number += 1
        for path in ("/api/v1/leaderboard?dataset=tone", f"/api/v1/leaderboard?dataset=tone&metrics=brier&beta=0.{number + 100}"):
            began = time.monotonic()
            answer = client.get(path)
            seconds.append(time.monotonic() - began)
            if answer.status_code != 200:
                went_wrong.append((path, answer.status_code))


@pytest.mark.parametrize("trouble", ["gone", "hanging"])
def test_threads_continue_without_redis_and_use_it_again(redis_server, copied, tmp_path, monkeypatch, trouble):
    monkeypatch.setattr(result_cache, "PAUSE", 1.0)
    app = served(copied, redis_server)
    service = app.extensions["clueline"]
    cache = service.cache
    stop, went_wrong, seconds = threading.Event(), [], []
    second_server = None
    with ThreadPoolExecutor(THREADS) as pool:
        asking = [pool.submit(ask_everything, app.test_client(), went_wrong, seconds, stop) for _ in range(THREADS)]
        try:
            wait_until(lambda: len(seconds) > 3 * THREADS and redis_server.client.dbsize() > THREADS)
            assert cache.failures == 0
            redis_server.stop() if trouble == "gone" else redis_server.pause()
            wait_until(lambda: cache.failures > 0)
            answered = len(seconds)
            wait_until(lambda: len(seconds) > answered + 5 * THREADS)  # they continue
            assert all(not future.done() for future in asking)
            if trouble == "gone":
                second_server = start_redis(tmp_path, redis_server.port)
            else:
                redis_server.resume()
            client = redis.Redis(port=redis_server.port)
            client.flushall()
            wait_until(lambda: client.dbsize() > THREADS)  # Redis is used again
        finally:
            stop.set()
            if second_server:
                second_server.stop()
    assert went_wrong == []


def test_a_hanging_redis_costs_only_few_time_outs(redis_server, tmp_path):
    """Time-outs must not come once per request: 8 threads that ask 50 times each would wait for 800 of them."""
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    computed(cache, "before")
    redis_server.pause()
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(lambda number: computed(cache, f"key {number}"), range(50 * THREADS)))
    tries = 1 + (time.monotonic() - began) // result_cache.PAUSE
    assert 1 <= cache.failures <= THREADS * tries
    redis_server.resume()


def test_one_thread_at_a_time_tries_a_failed_redis_again(redis_server, tmp_path, monkeypatch):
    monkeypatch.setattr(result_cache, "REDIS_TIMEOUT", 0.2)
    monkeypatch.setattr(result_cache, "PAUSE", 0.0)
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    redis_server.pause()
    computed(cache, "fails")
    monkeypatch.setattr(result_cache, "PAUSE", 3600.0)
    gate, before = threading.Barrier(THREADS), cache.failures

    def ask(number):
        gate.wait()
        return computed(cache, f"key {number}")

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(ask, range(THREADS)))
    assert cache.failures == before + 1
    redis_server.resume()
