"""What is held in memory: read once while it is true, and never more than there is room for."""

import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pytest

from data.store import Snapshot, open_store
from data.store.memory import Memory
from data.store.revisions import State


def array(size):
    return np.zeros(size, dtype=np.uint8)


def fail(missing):
    pytest.fail(f"read again: {missing}")


ABOUT = ("toy", "base", "a")


@pytest.fixture
def memory():
    return Memory(capacity=100)


def reading(size, read):
    """Reads arrays of a size, and notes of which runs."""

    def column(missing):
        read.append(missing)
        return {run: array(size) for run in missing}

    return column


def test_what_is_held_is_not_read_again(memory):
    first = memory.get(ABOUT, ["r1", "r2"], reading(10, read := []))
    assert read == [["r1", "r2"]]
    assert memory.get(ABOUT, ["r2"], fail)["r2"] is first["r2"]
    more = memory.get(ABOUT, ["r2", "r3", "r1"], reading(10, read))
    assert read[1:] == [["r3"]] and more["r1"] is first["r1"]
    for other in (("toy", "later", "a"), ("relay", "base", "a"), ("toy", "base", "b")):
        memory.get(other, ["r1"], reading(10, read))
    assert read[2:] == [["r1"]] * 3


def test_what_was_asked_for_least_recently_goes_first(memory):
    for run in "abc":
        memory.get(ABOUT, [run], reading(40, []))
        memory.get(ABOUT, ["a"], fail)
    memory.get(ABOUT, ["b"], reading(40, read := []))
    assert read == [["b"]]


def test_what_is_larger_than_all_room_is_read_each_time(memory):
    memory.get(ABOUT, ["small"], reading(10, []))
    assert [len(memory.get(ABOUT, ["large"], reading(101, []))["large"]) for _ in range(2)] == [101, 101]
    memory.get(ABOUT, ["small"], fail)


def test_what_is_true_of_no_dataset_any_more_is_let_go(memory):
    memory.get(("toy", "old", "a"), ["r"], reading(1, []))
    memory.get(("relay", "base", "a"), ["r"], reading(1, []))
    memory.retain([("toy", "new"), ("relay", "base")])
    memory.get(("relay", "base", "a"), ["r"], fail)
    assert len(memory.get(("toy", "old", "a"), ["r"], reading(2, []))["r"]) == 2


def test_two_threads_do_not_read_the_same_at_once(memory):
    read = []

    def slowly(missing):
        time.sleep(0.2)
        return reading(10, read)(missing)

    with ThreadPoolExecutor(4) as threads:
        columns = list(threads.map(lambda _: memory.get(ABOUT, ["r"], slowly)["r"], range(4)))
    assert read == [["r"]] and all(column is columns[0] for column in columns)


def test_a_snapshot_holds_by_the_base_of_the_dataset(memory):
    columns = []
    for base, size in (("one", 1), ("one", 2), ("two", 3)):
        snapshot = Snapshot("1", duckdb.connect(), {"toy": State(f"revision {size}", base)}, memory)
        columns.append(len(snapshot.cached("toy", "a", ["r"], reading(size, []))[0]))
    assert columns == [1, 1, 3]


def test_a_store_lets_go_of_what_its_new_version_has_not(tmp_path):
    store = open_store(tmp_path)
    store.write(lambda connection: None)
    before = store.snapshot()
    before.cached("gone", "a", ["r"], reading(1, []))
    store.write(lambda connection: None)
    after = store.snapshot()
    assert after.memory is before.memory
    assert len(after.cached("gone", "a", ["r"], reading(2, []))[0]) == 2
