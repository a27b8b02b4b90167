"""A lock that works where ``flock`` does not exclude others, as on some network mounts."""

import json
import os
import subprocess
import sys

import pytest

from clueline.data.store import StoreError, open_store
from clueline.data.store.register import LockLost, exclusive_lock
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.paths import ROOT

WRITERS, WRITES = 3, 2

# flock grants every lock; copies of the catalogue are slow enough for writers to meet.
WITHOUT_FLOCK = f"""
import fcntl, shutil, sys, time
fcntl.flock = lambda *args: None
copyfile = shutil.copyfile
shutil.copyfile = lambda *args: (copyfile(*args), time.sleep(0.02))
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens
store = open_store(sys.argv[1], threads=1)
for k in range({WRITES}):
    name = f"{{sys.argv[2]}}-{{k}}"
    store.write(lambda connection: connection.execute(
        "insert into datasets (dataset, position, title, kind, simulated, content) values (?, 0, '', 'single', false, '')", [name]
    ))
    Tokens(store.register).create(name)
"""


def test_no_write_is_lost_where_file_locks_do_not_exclude(tmp_path):
    folder = tmp_path / "store"
    open_store(folder).write(lambda connection: None)
    writers = [
        subprocess.Popen([sys.executable, "-c", WITHOUT_FLOCK, folder, str(k)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for k in range(WRITERS)
    ]
    errors = [writer.communicate(timeout=300)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS, errors
    names = {f"{k}-{n}" for k in range(WRITERS) for n in range(WRITES)}
    store = open_store(folder)
    assert {row[0] for row in store.snapshot().frame("select dataset from datasets").rows()} == names
    assert {token.name for token in Tokens(store.register).all()} == names
    assert not list(folder.glob("*.held*"))


def claim_of(path):
    with exclusive_lock(path, 1, "busy"):
        return json.loads(path.with_name("LOCK.held").read_text())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "LOCK"


def leave(path, content):
    path.with_name("LOCK.held").write_text(content if isinstance(content, str) else json.dumps(content))


def test_the_claim_of_a_process_that_is_gone_is_removed_at_once(path):
    claim = claim_of(path)
    assert claim["process"] == os.getpid() and not path.with_name("LOCK.held").exists()
    leave(path, claim | {"started": "1"})  # its number now belongs to another process
    assert claim_of(path)["started"] == claim["started"]


@pytest.mark.parametrize("content", [{"host": "another", "process": 1, "started": "1"}, "{", "[1]", ""])
def test_the_claim_of_another_host_is_waited_for(path, content, monkeypatch):
    leave(path, content)
    with pytest.raises(StoreError, match="busy"), exclusive_lock(path, 0.05, "busy"):
        raise AssertionError("two hold the lock")
    assert path.with_name("LOCK.held").exists() and len(list(path.parent.iterdir())) == 2
    monkeypatch.setattr("clueline.data.store.register.ABANDONED", 0.05)
    assert claim_of(path)["process"] == os.getpid()


def test_a_claim_of_this_process_is_waited_for(path):
    with exclusive_lock(path, 1, "busy") as claim:
        assert claim.holds()
        with pytest.raises(StoreError, match="busy"), exclusive_lock(path, 0.05, "busy"):
            raise AssertionError("two hold the lock")


def test_a_writer_that_lost_its_claim_publishes_nothing(tmp_path):
    store = open_store(tmp_path / "store")
    store.write(lambda connection: None)
    before = store.pointer()
    with store.register.locked() as lock:
        lock.check()
        leave(tmp_path / "store" / "LOCK", {"host": "another", "process": 1, "started": "1"})
        with pytest.raises(LockLost):
            lock.point("gen-000002.duckdb", before, "2-00000000")
    assert store.pointer() == before
    assert (tmp_path / "store" / "LOCK.held").exists()  # it belongs to the other host
