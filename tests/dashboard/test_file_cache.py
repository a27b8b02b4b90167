"""Results on disk: within a limit in bytes whoever writes, whole or absent, and leaving some disk space free."""

import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256

import pytest

from clueline.dashboard import cache as result_cache
from clueline.dashboard.cache import Bytes, FileCache
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment
from tests.helpers.waiting import wait_until

MIB = 2**20
PROCESS = """
import os, sys
from hashlib import sha256
from pathlib import Path
from clueline.dashboard.cache import Bytes, FileCache
cache = FileCache(Path(sys.argv[1]), 2**20, 4)
cache.serializer = Bytes()
for number in range(200):
    cache.set(sha256(f"{sys.argv[2]} {number}".encode()).hexdigest(), os.urandom(10_000 + 100 * number))
"""


def opened(folder, processes=1):
    cache = FileCache(folder, MIB, processes)
    cache.serializer = Bytes()
    return cache


def name(key):
    return sha256(str(key).encode()).hexdigest()


def path_of(folder, key):
    """Return the file of a key: flask-caching names it by the key's checksum."""
    return folder / name(name(key))


def used(folder):
    """Return the bytes that the files of a cache take on disk."""
    total = 0
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):  # it was just removed
            total += entry.stat().st_blocks * 512
    return total


def test_a_stored_result_is_found_by_every_process(tmp_path):
    cache = opened(tmp_path / "results")
    assert cache.get(name(1)) is None
    for value in (b"", b"one", os.urandom(100_000)):
        cache.set(name(1), value)
        assert cache.get(name(1)) == opened(tmp_path / "results").get(name(1)) == value


def test_the_folder_never_holds_more_than_the_limit(tmp_path):
    cache = opened(tmp_path / "results")
    for number in range(300):
        cache.set(name(number), os.urandom(100 * number))
        assert used(tmp_path / "results") <= MIB
    assert cache.get(name(299)) is not None and cache.get(name(0)) is None
    assert used(tmp_path / "results") > MIB / 2  # and it is not just empty


def test_many_small_results_stay_within_the_limit(tmp_path):
    """A file takes at least a block, however small its value is."""
    cache = opened(tmp_path / "results")
    for number in range(1000):
        cache.set(name(number), b"x")
    assert used(tmp_path / "results") <= MIB


def test_threads_and_processes_together_keep_the_limit(tmp_path):
    folder = tmp_path / "results"
    caches = [opened(folder, processes=4) for _ in range(2)]
    process = subprocess.Popen([sys.executable, "-c", PROCESS, folder, "other"], cwd=ROOT, env=environment())
    most = []

    def write(thread):
        for number in range(100):
            caches[thread % 2].set(name((thread, number)), os.urandom(20_000))
            most.append(used(folder))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert process.wait(300) == 0
    assert MIB / 2 < max(most) <= MIB
    assert used(folder) <= MIB


def test_recently_used_results_stay(tmp_path):
    cache = opened(tmp_path / "results")
    cache.set(name("often"), b"x" * 10_000)
    for number in range(300):
        cache.set(name(number), b"x" * 10_000)
        assert cache.get(name("often")) is not None, number


def test_a_result_too_large_for_the_cache_is_not_kept(tmp_path):
    cache = opened(tmp_path / "results")
    cache.set(name("small"), b"x")
    cache.set(name("large"), b"x" * (MIB // 2))
    assert cache.get(name("large")) is None and cache.get(name("small")) == b"x"


def test_free_space_is_kept(tmp_path, monkeypatch):
    """The store is on the same disk. When the disk fills up, the limit shrinks and cached results are removed."""
    cache = opened(tmp_path / "results")
    for number in range(20):
        cache.set(name(number), b"x" * 10_000)
    disk = namedtuple("disk", "total used free")
    before = used(tmp_path / "results")
    free = MIB + 4096 + before  # without the cache
    monkeypatch.setattr(result_cache.shutil, "disk_usage", lambda _: disk(20 * MIB, 19 * MIB, free - used(tmp_path / "results")))
    cache.set(name("new"), b"x" * 10_000)
    assert cache.get(name("new")) is not None and free - used(tmp_path / "results") >= MIB
    monkeypatch.setattr(result_cache.shutil, "disk_usage", lambda _: disk(20 * MIB, 20 * MIB, 0))
    cache.set(name("newer"), b"x" * 10_000)
    assert cache.get(name("newer")) is None


@pytest.mark.parametrize("damage", ["flip", "cut", "zero", "empty"])
def test_a_damaged_file_is_never_served(tmp_path, damage):
    """For example after a power failure. Damaged bytes may still decode, to wrong figures."""
    cache = opened(tmp_path / "results")
    value = os.urandom(10_000)
    cache.set(name(1), value)
    path = path_of(tmp_path / "results", 1)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[5000] ^= 1
    elif damage == "zero":
        content[4096:8192] = bytes(4096)
    path.write_bytes(content[:5000] if damage == "cut" else b"" if damage == "empty" else content)
    assert cache.get(name(1)) is None
    cache.set(name(1), value)
    assert cache.get(name(1)) == value


def test_half_written_files_are_removed(tmp_path):
    """A process that is killed while it writes leaves at most one, until a server starts or the cache is full."""
    folder = tmp_path / "results"
    code = PROCESS.replace("range(200)", "iter(int, 1)").replace("10_000 + 100 * number", "200_000")
    process = subprocess.Popen([sys.executable, "-c", code, folder, "killed"], cwd=ROOT, env=environment())
    wait_until(lambda: folder.exists() and any(folder.glob("?" * 64)))
    process.send_signal(signal.SIGKILL)
    process.wait()
    unfinished = [path for path in folder.iterdir() if len(path.name) != 64]
    assert len(unfinished) <= 1
    for path in (*unfinished, folder / "torn"):
        path.write_bytes(b"x" * 5000)
        os.utime(path, (time.time() - 3600, time.time() - 3600))
    opened(folder)
    assert not [path for path in folder.iterdir() if len(path.name) != 64]
    assert used(folder) <= MIB


def test_expired_results_make_room_first(tmp_path):
    folder = tmp_path / "results"
    cache = opened(folder)
    cache.set(name("old"), b"x")
    long_ago = time.time() - result_cache.TIME_TO_LIVE - 10
    os.utime(path_of(folder, "old"), (long_ago, long_ago))
    cache.set(name("new"), b"x")
    opened(folder)
    assert not path_of(folder, "old").exists() and path_of(folder, "new").exists()


def test_a_folder_that_vanished_with_its_store_stays_gone(tmp_path):
    (tmp_path / "cache").mkdir()
    cache = opened(tmp_path / "cache" / "results")
    (tmp_path / "cache" / "results").rmdir()
    (tmp_path / "cache").rmdir()
    assert cache.get(name(1)) is None
    with pytest.raises(FileNotFoundError):
        cache.set(name(1), b"x")
    assert not (tmp_path / "cache").exists()


def test_others_of_this_host_cannot_read_results(tmp_path):
    cache = opened(tmp_path / "results")
    cache.set(name(1), b"x")
    assert (tmp_path / "results").stat().st_mode & 0o777 == 0o700
