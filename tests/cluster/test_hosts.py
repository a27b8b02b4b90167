"""Two hosts that share one store behind nginx: readers get answers whichever part fails, and both hosts show the same runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager

import duckdb
import pytest

from clueline.data.store import open_store
from clueline.data.store.migrations import current_schema, schema_of
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.nginx import balancer
from tests.helpers.paths import ROOT
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.redis_server import start_redis
from tests.helpers.serving import environment, start_server
from tests.helpers.stores import seed_without_models
from tests.helpers.waiting import wait_until

ADDRESSES = (
    "/", "/api/v1/leaderboard?dataset=pyramid", "/api/v1/questions?dataset=tone", "/api/v1/reliability?dataset=lifeeval",
    "/api/v1/runs?dataset=pyramid", "/questions?dataset=tone",
)  # fmt: skip
TOGETHER = 4  # readers at the same time


class Cluster:
    """Two servers on one store, a proxy in front of them, and a Redis server that both use."""

    def __init__(self, folder, s3):
        self.folder = folder
        self.postgres = PostgresServer()
        self.redis = start_redis(folder)
        database, bucket = self.postgres.new_database(), s3.new_bucket()
        self.urls = [f"{database}?objects={bucket}&local={folder / name}" for name in "ab"]
        store = open_store(self.urls[0], threads=1)
        seed_without_models(store)
        self.token = Tokens(store.register).create("ann")
        self.questions = [q for (q,) in store.snapshot().rows("select question_id from questions where dataset = 'pyramid'")]
        store.close()
        self.hosts = [self.start(index) for index in range(2)]
        self.nginx = balancer(folder / "nginx", [host.address for host in self.hosts])

    def start(self, index, **settings):
        log = self.folder / f"host{index}.log"
        settings |= {"cache": self.redis.url, "uploads": "token", "trusted_proxies": "127.0.0.0/8"}
        return start_server(self.urls[index], log, workers=2, **settings)

    def start_again(self, index, **settings):
        port = self.hosts[index].address.rpartition(":")[2]
        self.hosts[index] = self.start(index, port=int(port), **settings)

    def stop(self):
        self.nginx.stop()
        for host in self.hosts:
            host.stop()
        self.redis.stop()
        self.postgres.remove()

    def upload(self, address, model):
        """Upload a run and return its id."""
        lines = ["question_id,clue,guess,confidence", *(f"{question},0,Rome,0.5" for question in self.questions[:5])]
        path = f"{address}/api/v1/runs?dataset=pyramid&model={model}"
        request = urllib.request.Request(path, "\n".join(lines).encode(), {"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.load(response)["runs"][0]["run"]

    def runs(self, address):
        with urllib.request.urlopen(f"{address}/api/v1/runs?dataset=pyramid", timeout=60) as response:
            return {run["run"] for run in json.load(response)["runs"]}

    @contextmanager
    def readers(self, together=TOGETHER):
        """Let ``together`` clients read through the proxy during the block; yield the count of each status."""
        counts, stop, lock = Counter(), threading.Event(), threading.Lock()

        def read(number):
            turn = number
            while not stop.is_set():
                turn += 1
                try:
                    with urllib.request.urlopen(self.nginx.address + ADDRESSES[turn % len(ADDRESSES)], timeout=120) as response:
                        response.read()
                        status = response.status
                except urllib.error.HTTPError as error:
                    status = f"{error.code} {error.read()[:300]}"
                except OSError as error:
                    status = repr(error)
                with lock:
                    counts[status] += 1

        threads = [threading.Thread(target=read, args=(number,)) for number in range(together)]
        for thread in threads:
            thread.start()
        try:
            yield counts
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@pytest.fixture
def cluster(tmp_path, s3):
    started = Cluster(tmp_path, s3)
    yield started
    started.stop()


def answered(counts, more):
    """Wait for ``more`` further answers, or until any status other than 200 appears."""
    goal = counts[200] + more
    wait_until(lambda: counts[200] >= goal or len(counts) > 1)


def test_readers_get_answers_whichever_part_fails(cluster):
    with cluster.readers() as counts:
        answered(counts, 20)
        os.killpg(cluster.hosts[0].process.pid, signal.SIGKILL)
        answered(counts, 20)
        cluster.hosts[0].process.wait()
        cluster.start_again(0)
        answered(counts, 20)
        cluster.hosts[1].process.terminate()
        cluster.hosts[1].process.wait(120)
        answered(counts, 20)
        cluster.start_again(1)
        answered(counts, 20)
        cluster.redis.pause()
        answered(counts, 20)
        cluster.redis.resume()
        cluster.redis.stop()
        answered(counts, 20)
        cluster.postgres.stop()
        answered(counts, 40)
        cluster.postgres.start()
        answered(counts, 20)
        cluster.postgres.restart()
        answered(counts, 20)
    assert set(counts) == {200}, counts


def test_a_host_shows_what_the_other_stored(cluster):
    seconds = []
    for number in range(6):
        here, other = cluster.hosts[number % 2], cluster.hosts[1 - number % 2]
        run = cluster.upload(here.address, f"model-{number}")
        assert run in cluster.runs(here.address)
        began = time.monotonic()
        wait_until(lambda run=run, other=other: run in cluster.runs(other.address))
        seconds.append(time.monotonic() - began)
    print(f"a run is on the other host after {min(seconds):.2f} to {max(seconds):.2f} s")
    assert max(seconds) < 30


def test_an_upload_waits_while_the_database_restarts(cluster):
    cluster.postgres.stop()
    results = []
    uploading = threading.Thread(target=lambda: results.append(cluster.upload(cluster.hosts[0].address, "patient")))
    uploading.start()
    time.sleep(1)
    assert not results
    cluster.postgres.start()
    uploading.join(300)
    assert results and results[0] in cluster.runs(cluster.hosts[1].address)


def test_a_host_is_not_ready_until_its_database_returns(cluster):
    address = f"{cluster.hosts[0].address}/readyz"
    cluster.runs(cluster.hosts[0].address)
    cluster.postgres.stop()

    def is_away():
        try:
            urllib.request.urlopen(address, timeout=30).close()
        except urllib.error.HTTPError as error:
            return error.code == 503 and json.load(error)["error"]["code"] == "register_away"
        return False

    wait_until(is_away)
    cluster.postgres.start()
    wait_until(lambda: not is_away())


STEP = '''"""Runs know their region."""
from clueline.data.store.migrations import drop_column

def migrate(connection, objects):
    connection.execute("alter table runs add column region varchar")

def revert(connection):
    drop_column(connection, "runs", "region")
'''


def next_version(folder):
    """Copy the code to a folder and add a migration to it, as in a later version of Clueline; return the folder."""
    for name in ("assets", "dashboard", "data", "queries"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "data" / "store" / "migrations" / f"m{current_schema() + 1:04}_region.py").write_text(STEP)
    return folder


def test_hosts_are_upgraded_one_by_one_while_runs_come_in(cluster, tmp_path):
    """First one host is upgraded, then the other, then the store. Meanwhile this version and the later one serve side by side."""
    later = next_version(tmp_path / "later")
    uploaded, failures, done = [], [], threading.Event()

    def upload():
        while not done.is_set():
            number = len(uploaded) + len(failures)
            try:
                uploaded.append(cluster.upload(cluster.nginx.address, f"model-{number}"))
            except urllib.error.HTTPError as error:
                failures.append(f"{error.code} {error.read()[:300]}")

    def more_uploads():
        goal = len(uploaded) + 1
        wait_until(lambda: len(uploaded) >= goal or failures)

    uploading = threading.Thread(target=upload)
    with cluster.readers(together=1) as counts:  # imports have a lower priority than readers
        uploading.start()
        more_uploads()
        for index in range(2):
            cluster.hosts[index].process.terminate()  # it finishes the requests that it has begun
            cluster.hosts[index].process.wait(300)
            cluster.start_again(index, code=later)
            more_uploads()
            answered(counts, 20)
            stored = {cluster.upload(host.address, f"host-{index}-{number}") for number, host in enumerate(cluster.hosts)}
            for host in cluster.hosts:
                wait_until(lambda host=host, stored=stored: stored <= cluster.runs(host.address))
        assert schema(cluster) == current_schema()
        migrated = subprocess.run(
            [sys.executable, "-m", "clueline", "migrate"], check=False, cwd=later, env=environment(store=cluster.urls[0]),
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert migrated.returncode == 0, migrated.stderr
        assert schema(cluster) == current_schema() + 1
        more_uploads()
        answered(counts, 20)
        done.set()
        uploading.join()
    assert set(counts) == {200} and not failures, (counts, failures)
    assert {*uploaded} <= cluster.runs(cluster.hosts[1].address)


def schema(cluster):
    """Return the schema version of the current catalogue."""
    store = open_store(cluster.urls[0])
    with duckdb.connect(str(store.catalogue_file(store.pointer())), read_only=True) as connection:
        return schema_of(connection)
