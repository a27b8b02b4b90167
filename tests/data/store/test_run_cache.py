"""The cache of values of runs: what it holds, what it drops, and which caller reads a value."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pytest

from clueline.data.store import Snapshot, open_store
from clueline.data.store.cache_validity_tokens import State
from clueline.data.store.run_cache import RunCache, kept_property
from tests.helpers.bundle_factory import put_answers, put_two_runs


def array(size):
    return np.zeros(size, dtype=np.uint8)


def fail(missing):
    pytest.fail(f"read again: {missing}")


KEY = ("toy", "base", "a")


@pytest.fixture
def run_cache():
    return RunCache(capacity=100)


def reading(size, read):
    """Return a function that reads arrays of a size and records for which runs."""

    def column(missing):
        read.append(missing)
        return {run: array(size) for run in missing}

    return column


def test_cached_values_are_not_read_again(run_cache):
    first = run_cache.get(KEY, ["r1", "r2"], reading(10, read := []))
    assert read == [["r1", "r2"]]
    assert run_cache.get(KEY, ["r2"], fail)["r2"] is first["r2"]
    more = run_cache.get(KEY, ["r2", "r3", "r1"], reading(10, read))
    assert read[1:] == [["r3"]] and more["r1"] is first["r1"]
    for other in (("toy", "later", "a"), ("relay", "base", "a"), ("toy", "base", "b")):
        run_cache.get(other, ["r1"], reading(10, read))
    assert read[2:] == [["r1"]] * 3


def test_least_recently_used_values_are_dropped_first(run_cache):
    for run in "abc":
        run_cache.get(KEY, [run], reading(40, []))
        run_cache.get(KEY, ["a"], fail)
    run_cache.get(KEY, ["b"], reading(40, read := []))
    assert read == [["b"]]


def test_a_value_above_the_capacity_is_not_cached(run_cache):
    run_cache.get(KEY, ["small"], reading(10, []))
    assert [len(run_cache.get(KEY, ["large"], reading(101, []))["large"]) for _ in range(2)] == [101, 101]
    run_cache.get(KEY, ["small"], fail)


def test_values_of_former_bases_are_dropped(run_cache):
    run_cache.get(("toy", "old", "a"), ["r"], reading(1, []))
    run_cache.get(("relay", "base", "a"), ["r"], reading(1, []))
    run_cache.retain([("toy", "new"), ("relay", "base")])
    run_cache.get(("relay", "base", "a"), ["r"], fail)
    assert len(run_cache.get(("toy", "old", "a"), ["r"], reading(2, []))["r"]) == 2


def test_two_threads_do_not_read_the_same_value(run_cache):
    read = []

    def slowly(missing):
        time.sleep(0.2)
        return reading(10, read)(missing)

    with ThreadPoolExecutor(4) as threads:
        columns = list(threads.map(lambda _: run_cache.get(KEY, ["r"], slowly)["r"], range(4)))
    assert read == [["r"]] and all(column is columns[0] for column in columns)


def test_a_snapshot_caches_by_the_base_of_the_dataset(run_cache):
    columns = []
    for base, size in (("one", 1), ("one", 2), ("two", 3)):
        snapshot = Snapshot("1", duckdb.connect(), {"toy": State(f"revision {size}", base)}, run_cache)
        columns.append(len(snapshot.cached("toy", "a", ["r"], reading(size, []))[0]))
    assert columns == [1, 1, 3]


def test_a_store_drops_values_of_datasets_that_are_gone(tmp_path):
    store = open_store(tmp_path)
    store.write(lambda connection: None)
    before = store.snapshot()
    before.cached("gone", "a", ["r"], reading(1, []))
    store.write(lambda connection: None)
    after = store.snapshot()
    assert after.run_cache is before.run_cache
    assert len(after.cached("gone", "a", ["r"], reading(2, []))[0]) == 2


def test_an_upload_keeps_the_values_of_earlier_runs(prefilled, folder):
    store = prefilled(put_two_runs)
    runs = [run for (run,) in store.snapshot().rows("select run from runs")]
    store.snapshot().cached("toy", "a", runs, reading(1, []))
    put_answers(store, folder, "question_id,clue,guess,confidence\nq1,0,Rome,0.5\n")
    assert store.snapshot().not_cached("toy", "a", [*runs, "new"]) == ["new"]
    assert store.snapshot().with_people("toy", runs[0]).not_cached("toy", "a", runs) == runs


def test_attributes_that_read_the_cache_wait_for_nobody(run_cache):
    """While one object's attribute waits for the cache, whoever fills the cache can ask for that of another object."""
    asked, filling = threading.Event(), threading.Event()

    class Rows:
        def __init__(self, needs_cache):
            self.needs_cache = needs_cache

        @kept_property
        def number(self):
            if self.needs_cache:
                asked.set()
                assert filling.wait(60)
                run_cache.get(KEY, ["r1"], reading(10, []))
            return 10

    def fill(missing):
        filling.set()
        assert asked.wait(60)
        return {run: array(Rows(needs_cache=False).number) for run in missing}

    threads = [
        threading.Thread(target=lambda: Rows(needs_cache=True).number, daemon=True),
        threading.Thread(target=lambda: run_cache.get(KEY, ["r2"], fill), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
