"""Disks that are full or cannot be written: the error is reported, nothing is lost, and reading goes on."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import StoreError, open_store
from tests.helpers.paths import ROOT
from tests.helpers.process_kills import QUESTION, content
from tests.helpers.serving import environment, run_cli, start_server
from tests.helpers.soak_figures import note

IMPORT = (sys.executable, "-m", "clueline", "import")
# Runs a command whose files may not grow beyond a size. Another process sets this limit: after other tests, this one may have
# more addresses than the machine has memory, and then it cannot be forked.
LIMITED = """import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])"""


@pytest.fixture
def disk(tmp_path):
    """A small disk for one test. Only root can mount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], check=False, capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no disk can be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def filled(disk, free):
    """Fill the disk until ``free`` bytes are left."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        room = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_bsize - free))
    yield
    filler.unlink()


def answers(tmp_path, name):
    path = tmp_path / f"{name}.csv"
    path.write_text(content(name), encoding="utf-8")
    return path, ImportOptions(dataset="pyramid", model=name)


def stored(store):
    return {row[0] for row in open_store(store.url, threads=1).snapshot().rows("select model from runs")}


def get(served, path):
    with urllib.request.urlopen(f"{served.address}{path}", timeout=120) as answer:
        return json.load(answer)


def upload(served, token, name):
    request = urllib.request.Request(
        f"{served.address}/api/v1/runs?dataset=pyramid&model={name}",
        content(name).encode(),
        {"Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.soak
def test_a_disk_that_is_full_at_any_point_of_an_import(disk, seeded, tmp_path):
    """The free space grows from none to enough, in small steps."""
    store = open_store(shutil.copytree(seeded, disk / "store"), threads=1)
    before, size = stored(store), store.catalogue().stat().st_size
    outcomes = []
    for step in range(16):
        path, options = answers(tmp_path, f"step-{step}")
        version = store.version()
        with filled(disk, step * size // 10):
            try:
                import_paths(store, [path], options)
            except StoreError as error:
                outcomes.append(False)
                assert "cannot be written" in str(error) or "cannot work with its files" in str(error)
                assert store.version() == version and stored(store) == before
            else:
                outcomes.append(True)
                before |= {f"step-{step}"}
                assert stored(store) == before
    assert not outcomes[0] and outcomes[-1]
    assert not list(store.files.root.glob("*.wal")) and not list(store.files.root.glob("*.tmp"))
    note(
        "disk",
        [
            ("imports on a disk that ran full at different points", len(outcomes)),
            ("of these refused with a reason, the store as it was", outcomes.count(False)),
            ("of these stored whole", outcomes.count(True)),
        ],
    )


@pytest.mark.soak
def test_a_scratch_disk_that_is_full(disk, copied, tmp_path, monkeypatch):
    store = open_store(copied, threads=1)
    version = store.version()
    scratch = disk / "temporary"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    path, options = answers(tmp_path, "cramped")
    for free in (0, 4096, 100_000, 400_000):
        with filled(disk, free), pytest.raises(StoreError, match="cannot work with its files"):
            import_paths(store, [path], options)
        assert store.version() == version and list(scratch.iterdir()) == []
    import_paths(store, [path], options)
    assert "cramped" in stored(store)


@pytest.mark.soak
def test_a_server_with_a_full_disk_still_answers_readers(disk, seeded, tmp_path):
    store = shutil.copytree(seeded, disk / "store")
    token = run_cli("token", "create", "lab", store=store).stdout.strip()
    served = start_server(store, tmp_path / "log", workers=1)
    try:
        runs = get(served, "/api/v1/runs")
        with filled(disk, 0):
            status, answer = upload(served, token, "crowded")
            assert (status, answer["error"]["code"]) == (503, "store_unavailable"), answer
            assert get(served, "/api/v1/runs") == runs
            assert get(served, f"/api/v1/questions/pyramid/{QUESTION}")["runs"]
        status, answer = upload(served, token, "roomy")
        assert status == 201, answer
    finally:
        served.stop()
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "Exception on" not in log and "Error handling" not in log  # the cache says that it cannot store answers


@pytest.mark.soak
def test_a_store_that_cannot_be_written_can_be_read(disk, seeded, tmp_path):
    store = shutil.copytree(seeded, disk / "store")
    token = run_cli("token", "create", "lab", store=store).stdout.strip()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    served = start_server(store, tmp_path / "log", workers=1)
    try:
        assert get(served, "/api/v1/runs")["runs"]
        status, answer = upload(served, token, "barred")
        assert (status, answer["error"]["code"]) == (503, "store_unavailable"), answer
        assert "cannot be written" in answer["error"]["message"]
        assert get(served, f"/api/v1/questions/pyramid/{QUESTION}")["runs"]
    finally:
        served.stop()
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
    path, _ = answers(tmp_path, "barred")
    done = run_cli("import", path, "--dataset", "pyramid", "--model", "barred", store=store)
    assert done.returncode != 0 and "cannot be written" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("part", [0.5, 0.999])
def test_an_import_whose_files_cannot_grow_enough(copied, tmp_path, part):
    """For machines where no disk can be mounted: the files of a process may not grow beyond a part of the catalogue's size."""
    store = open_store(copied, threads=1)
    version, before = store.version(), stored(store)
    most = int(store.catalogue().stat().st_size * part)
    path, _ = answers(tmp_path, "limited")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(most), *IMPORT, str(path), "--dataset", "pyramid", "--model", "limited"],
        check=False, cwd=ROOT, env=environment(store=copied), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode != 0
    assert "cannot be written" in done.stderr or "cannot work with its files" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) < 6, done.stderr
    assert store.version() == version and stored(store) == before
    assert run_cli("import", path, "--dataset", "pyramid", "--model", "limited", store=copied).returncode == 0
    assert stored(store) == before | {"limited"}
