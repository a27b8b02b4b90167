"""The query cache, on disk or in Redis: results are computed once, never stale, never run as code, and can be lost."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import pytest
import redis
from filelock import FileLock

from clueline.dashboard import cache as result_cache
from clueline.dashboard.app import create_app
from clueline.dashboard.cache import Bytes, ResultCache
from clueline.dashboard.service import EXTENSION
from clueline.dashboard.settings import Settings
from clueline.data.store import Snapshot, open_store
from clueline.queries.selection import Selection, read_selection
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, write
from tests.helpers.paths import ROOT
from tests.helpers.redis_server import PROGRAM, start_redis
from tests.helpers.waiting import wait_until

COMPUTED: Counter = Counter()


class Counted(msgspec.Struct):
    number: int
    version: str


def slowly(snapshot: Snapshot, number: int) -> Counted:
    COMPUTED[number] += 1
    time.sleep(0.2)
    return Counted(number, snapshot.version)


class Impatient(FileLock):
    """A lock between processes that nobody in this process waits for."""

    def acquire(self, timeout, *rest, **options):
        return super().acquire(0, *rest, **options)


def test_eight_threads_share_one_computation(fresh, monkeypatch):
    """They wait for the one that computes, not for the lock between processes: who waits for that one polls."""
    COMPUTED.clear()
    monkeypatch.setattr(result_cache, "FileLock", Impatient)
    together = threading.Barrier(8)

    def ask(index):
        together.wait()
        return fresh.service.ask(slowly, index % 2).number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [0, 1] * 4
    assert COMPUTED == {0: 1, 1: 1}
    assert fresh.service.ask(slowly, 1).number == 1
    assert COMPUTED == {0: 1, 1: 1}


PROCESS = """
import sys, time
from pathlib import Path
from clueline.dashboard.cache import ResultCache
folder = Path(sys.argv[1])
def compute():
    with (folder / "computed").open("a") as out: out.write("x")
    time.sleep(0.5)
    return b"answer"
answers = ResultCache("filesystem", folder, 2**20)
(folder / f"ready-{sys.argv[2]}").touch()
while not (folder / "go").exists(): time.sleep(0.01)
assert answers.get("key", compute, bytes) == b"answer"
"""


def test_processes_share_one_computation(tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, tmp_path, str(index)], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
        )
        for index in range(2)
    ]
    wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
    (tmp_path / "go").touch()
    assert [process.wait(300) for process in started] == [0, 0]
    assert (tmp_path / "computed").read_text() == "x"


def test_a_computation_that_fails_is_not_kept(tmp_path):
    answers = ResultCache("filesystem", tmp_path, 2**20)
    with pytest.raises(ZeroDivisionError):
        answers.get("key", lambda: bytes(1 // 0), bytes)
    assert answers.get("key", lambda: b"later", bytes) == b"later"


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def no_pickle(value):
    if value.startswith(b"\x80"):
        raise msgspec.ValidationError
    return value


@pytest.mark.parametrize("planted", ["pickle", "nothing", "nonsense"])
def test_code_planted_in_the_cache_is_never_run(tmp_path, planted):
    answers = ResultCache("filesystem", tmp_path, 2**20)
    assert answers.get("key", lambda: b"mine", bytes) == b"mine"
    (path,) = (tmp_path / "results").glob("?" * 64)
    pickled = pickle.dumps(Trap(tmp_path / "sprung"))
    path.write_bytes({"pickle": b"\0\0\0\0" + Bytes().dumps(pickled), "nothing": b"", "nonsense": b"\xff" * 40}[planted])
    assert answers.get("key", lambda: b"again", no_pickle) == b"again"
    assert not (tmp_path / "sprung").exists()


def test_an_answer_that_cannot_be_read_is_computed_again(fresh):
    """For example one that another version of the code has left."""
    good = fresh.client.get("/api/v1/datasets").json
    paths = [*(fresh.store / "cache" / "results").glob("?" * 64)]
    assert paths
    for path in paths:
        expires = path.read_bytes()[:4]
        path.write_bytes(expires + Bytes().dumps(msgspec.msgpack.encode({"datasets": [{"dataset": "old"}]})))
    answer = fresh.client.get("/api/v1/datasets")
    assert answer.status_code == 200
    assert answer.json == good


def of_selection(snapshot: Snapshot, selection: Selection) -> Counted:
    COMPUTED[selection.dataset] += 1
    return Counted(0, snapshot.version)


def test_results_of_other_datasets_stay_cached(fresh, cli, tmp_path):
    """A new run of Pyramid leaves the answers about other datasets in the cache, and they hold for the new version."""
    names = [row.dataset for row in fresh.service.datasets()]
    assert names == ["pyramid", "lifeeval", "tone"]
    chosen = {name: read_selection([("dataset", name)], fresh.service.facets) for name in names}
    for name in names:
        fresh.service.ask(of_selection, chosen[name])
    board = {name: fresh.client.get(f"/api/v1/leaderboard?dataset={name}").json for name in names}
    COMPUTED.clear()
    path = tmp_path / "new.csv"
    path.write_text("question_id,clue,guess,confidence\nlit-01,0,x,0.5\n")
    imported = cli("import", path, "--dataset", "pyramid", "--model", "new", store=fresh.store)
    assert imported.returncode == 0, imported.stderr
    for name in names:
        fresh.service.ask(of_selection, chosen[name])
    assert COMPUTED == {"pyramid": 1}
    version = fresh.service.snapshot().version
    for name in names:
        after = fresh.client.get(f"/api/v1/leaderboard?dataset={name}").json
        assert after.pop("data_version") == version != board[name].pop("data_version")
        assert (after == board[name]) == (name != "pyramid")
    assert [row.runs for row in fresh.service.datasets()] == [len(board[name]["rows"]) + (name == "pyramid") for name in names]


def test_an_import_by_another_process_is_seen_at_once(fresh, cli_process, tmp_path):
    """While threads keep asking: each answer belongs to one version, and no thread goes back to an older one."""
    bundle = write(tmp_path / "late", FACTS | {"dataset": "late"}, responses=RESPONSES)
    before = fresh.service.store.version()
    done = threading.Event()
    seen = [[], [], []]

    def keep_asking(index):
        client, mine = fresh.app.test_client(), seen[index]
        while not done.is_set():
            version = client.get("/readyz").json["data_version"]
            names = [row["dataset"] for row in client.get("/api/v1/datasets").json["datasets"]]
            mine.append((version, "late" in names, client.get("/api/v1/leaderboard?dataset=late").status_code))

    threads = [threading.Thread(target=keep_asking, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    try:
        imported = cli_process("import", bundle, "--model", "late model", store=fresh.store)
        assert imported.returncode == 0, imported.stderr
        # The import is acknowledged: from here on, nobody may get the old answers.
        after = fresh.service.store.version()
        assert after != before
        assert "late" in [row["dataset"] for row in fresh.client.get("/api/v1/datasets").json["datasets"]]
        assert fresh.client.get("/api/v1/leaderboard?dataset=late").json["data_version"] == after
        wait_until(lambda: all(mine and mine[-1][0] == after for mine in seen))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    for mine in seen:
        versions = [version for version, _, _ in mine]
        assert set(versions) <= {before, after}
        assert versions == sorted(versions, key=[before, after].index)
        for version, listed, status in mine:
            assert status in (200, 400)
            if version == after:
                assert listed and status == 200
        assert mine[-1] == (after, True, 200)


def test_a_full_or_lost_folder_is_never_an_error(tmp_path, caplog):
    cache = ResultCache("filesystem", tmp_path / "cache", 2**20)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("not a folder")
    for _ in range(2):
        assert cache.get("key", lambda: b"computed", bytes) == b"computed"
    assert cache.failures == 3  # the lock twice, and the result once: a cache that failed is not used for a while
    assert len([record for record in caplog.records if record.name == "clueline.dashboard.cache"]) == 1


def test_a_folder_that_cannot_be_made_is_never_an_error(tmp_path):
    (tmp_path / "results").write_text("not a folder")
    cache = ResultCache("filesystem", tmp_path, 2**20)
    assert cache.failures == 1
    assert cache.get("key", lambda: b"computed", bytes) == b"computed"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files of this test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_servers_of_a_read_only_store_share_one_cache(copied, temporary):
    """A start creates no folder of its own, so that the limit holds for all servers together."""
    (copied / "cache").write_text("in the way, as if the disk could not be written")
    for _ in range(3):
        client = create_app(Settings(store=str(copied), workers=1)).test_client()
        assert client.get("/api/v1/datasets").status_code == 200
    (folder,) = temporary.glob("clueline-cache-*")
    assert folder.stat().st_mode & 0o777 == 0o700 and list((folder / "results").glob("?" * 64))


@pytest.mark.parametrize("kind", ["link", "open"])
def test_a_folder_that_somebody_else_put_there_is_not_used(copied, temporary, tmp_path, kind):
    (copied / "cache").write_text("in the way")
    create_app(Settings(store=str(copied), workers=1))
    (folder,) = temporary.glob("clueline-cache-*")
    shutil.rmtree(folder)
    trap = tmp_path / "trap"
    trap.mkdir()
    folder.symlink_to(trap) if kind == "link" else folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    app = create_app(Settings(store=str(copied), workers=1))
    assert app.test_client().get("/api/v1/datasets").status_code == 200
    assert not list(trap.iterdir()) and not list(folder.iterdir())


def test_only_a_changed_dataset_is_described_again(tmp_path):
    store = open_store(tmp_path / "store")
    for name in ("one", "two"):
        put(store, write(tmp_path / name, FACTS | {"dataset": name}))
    app = create_app(Settings(store=store.url, workers=1))
    service, asked = app.extensions[EXTENSION], []
    get = service.cache.get
    service.cache.get = lambda key, *rest: asked.append(key) or get(key, *rest)

    def reads():
        asked.clear()
        with app.test_request_context("/"):
            described = service.datasets()
        return [(dataset.dataset, dataset.runs) for dataset in described], len(asked)

    assert reads() == ([("one", 0), ("two", 0)], 2)
    assert reads() == ([("one", 0), ("two", 0)], 0)
    put(store, write(tmp_path / "two", FACTS | {"dataset": "two"}, responses=RESPONSES), model="gamma")
    assert reads() == ([("one", 0), ("two", 1)], 1)


THREADS = 8


@pytest.fixture
def redis_server(tmp_path):
    if PROGRAM is None:
        pytest.skip("there is no redis-server here")
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


def test_a_server_with_redis_answers_and_caches(redis_server, copied):
    """Every cache miss used to be an error 500."""
    app = served(copied, redis_server)
    client, service = app.test_client(), app.extensions["clueline"]
    for path in ("/api/v1/datasets", "/api/v1/leaderboard?dataset=tone", "/"):
        assert client.get(path).status_code == 200
    COMPUTED.clear()
    assert [service.ask(slowly, 5).number for _ in range(3)] == [5, 5, 5]
    assert COMPUTED == {5: 1}
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
        assert redis_server.client.get(name) == Bytes().dumps(good)
    assert not (tmp_path / "sprung").exists()


def test_a_redis_that_goes_away_is_never_an_error(redis_server, copied, caplog):
    """Results are computed, failures are counted and logged once, and nobody waits for the connection repeatedly."""
    client = served(copied, redis_server).test_client()
    before = client.get("/api/v1/leaderboard?dataset=tone").json
    redis_server.stop()
    for _ in range(3):
        assert client.get("/api/v1/leaderboard?dataset=tone").json == before
    assert client.get("/?dataset=tone").status_code == 200
    records = [record.getMessage() for record in caplog.records if record.name == "clueline.dashboard.cache"]
    assert len(records) == 1 and "the cache failed" in records[0]


def test_redis_failures_are_counted_then_retried(redis_server, tmp_path, monkeypatch):
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    redis_server.client.set("clueline:" + hashlib.sha256(b"key").hexdigest(), Bytes().dumps(b"kept"))
    monkeypatch.setattr(result_cache, "PAUSE", 0.0)
    redis_server.client.config_set("requirepass", "secret")  # from now on, Redis refuses all our commands
    fresh = ResultCache(redis_server.url, tmp_path, 2**20)
    assert fresh.get("key", lambda: b"computed", bytes) == b"computed"
    assert fresh.failures == 3  # two reads and a write
    redis.Redis.from_url(redis_server.url, password="secret").config_set("requirepass", "")
    assert fresh.get("key", lambda: b"computed", bytes) == cache.get("key", lambda: b"", bytes) == b"kept"


def test_a_full_redis_is_never_an_error(redis_server, tmp_path):
    """A Redis that may not evict anything refuses new results and still returns those it has."""
    cache = ResultCache(redis_server.url, tmp_path, 2**20)
    assert computed(cache, "kept")
    redis_server.client.config_set("maxmemory-policy", "noeviction")
    redis_server.client.config_set("maxmemory", 1)
    assert computed(cache, "new") and cache.failures == 1


@pytest.mark.parametrize("trouble", ["gone", "hanging"])
def test_threads_continue_without_redis_and_use_it_again(redis_server, tmp_path, monkeypatch, trouble):
    monkeypatch.setattr(result_cache, "PAUSE", 0.5)
    cache = ResultCache(redis_server.url, tmp_path / "cache", 2**20)
    stop, asked = threading.Event(), []
    second_server = None

    def ask(thread):
        while not stop.wait(0.01):
            asked.append(thread)
            computed(cache, "known"), computed(cache, f"new {len(asked)} {thread}")

    with ThreadPoolExecutor(THREADS) as pool:
        asking = [pool.submit(ask, thread) for thread in range(THREADS)]
        try:
            wait_until(lambda: len(asked) > 3 * THREADS and redis_server.client.dbsize() > THREADS)
            assert cache.failures == 0
            redis_server.stop() if trouble == "gone" else redis_server.pause()
            wait_until(lambda: cache.failures > 0)
            before = len(asked)
            wait_until(lambda: len(asked) > before + 5 * THREADS)  # they continue
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
    assert [future.exception() for future in asking] == [None] * THREADS


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
