"""What is held in memory: read once while it is true, and never more than there is room for."""

import duckdb
import numpy as np
import pytest

from data.memory import Memory
from data.store import Snapshot, open_store


def array(size):
    return np.zeros(size, dtype=np.uint8)


@pytest.fixture
def memory():
    return Memory(room=100)


def test_what_is_held_is_not_read_again(memory):
    first = memory.get(("toy", "r1", "a"), lambda: array(10))
    assert memory.get(("toy", "r1", "a"), lambda: pytest.fail("read again")) is first
    assert memory.get(("toy", "r2", "a"), lambda: array(10)) is not first


def test_what_was_asked_for_least_recently_goes_first(memory):
    for name in "abc":
        memory.get(("toy", "r", name), lambda: array(40))
        memory.get(("toy", "r", "a"), lambda: pytest.fail("the one in use is gone"))
    read = []
    memory.get(("toy", "r", "b"), lambda: read.append("b") or array(40))
    assert read == ["b"]


def test_what_is_larger_than_all_room_is_read_each_time(memory):
    memory.get(("toy", "r", "small"), lambda: array(10))
    assert [len(memory.get(("toy", "r", "large"), lambda: array(101))) for _ in range(2)] == [101, 101]
    memory.get(("toy", "r", "small"), lambda: pytest.fail("it made way for what is not held"))


def test_what_is_true_of_no_dataset_any_more_is_let_go(memory):
    memory.get(("toy", "old", "a"), lambda: array(1))
    kept = memory.get(("relay", "r", "a"), lambda: array(1))
    memory.only([("toy", "new"), ("relay", "r")])
    assert memory.get(("relay", "r", "a"), lambda: pytest.fail("read again")) is kept
    assert len(memory.get(("toy", "old", "a"), lambda: array(2))) == 2


def test_a_snapshot_holds_by_the_revision_of_the_dataset(memory):
    found = []
    for version, revision, size in (("1", "one", 1), ("2", "one", 2), ("3", "two", 3)):
        snapshot = Snapshot(version, duckdb.connect(), {"toy": revision}, memory)
        found.append(len(snapshot.held("toy", "a", lambda size=size: array(size))))
    assert found == [1, 1, 3]


def test_a_store_lets_go_of_what_its_new_version_has_not(tmp_path):
    store = open_store(tmp_path)
    store.write(lambda connection: None)
    before = store.snapshot()
    before.memory.get(("gone", "r", "a"), lambda: array(1))
    store.write(lambda connection: None)
    after = store.snapshot()
    assert after.memory is before.memory
    assert len(after.memory.get(("gone", "r", "a"), lambda: array(2))) == 2
