"""The store: one writer at a time, readers at any time, and no change half done."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from clueline.data.store import DamagedStore, StoreError, once_per_snapshot, open_store
from clueline.data.store.audit import Audit
from clueline.data.store.repair import damage_of, versions_on_disk
from clueline.data.store.sweep import KEEP
from tests.helpers.paths import ROOT
from tests.helpers.store_notes import check_reading_while_writing, note, notes, spoil_file

NEW_PROCESS = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def revisions_follow_changes():
    """Disabled here, because these changes are not of datasets."""


def test_stores_with_other_limits_share_a_process(tmp_path):
    folder = tmp_path / 'it\'s a "store"'
    first, second = open_store(folder, threads=1), open_store(folder, threads=2, memory_limit="1GB")
    first.write(note("kept"))
    snapshot = first.snapshot()
    assert notes(second) == notes(first) == ["kept"]
    assert snapshot.rows("select dataset from datasets") == [("kept",)]


def catalogues(store):
    return sorted(path.name for path in store.files.root.glob("gen-*"))


def test_empty_store_reads_as_empty_and_makes_no_folder(store):
    assert store.version() == "0"
    assert store.catalogue() is None
    assert notes(store) == []
    assert not store.files.root.exists()


def test_each_write_is_a_catalogue_with_its_own_version(store):
    versions = [store.version()]
    for index in range(5):
        assert store.write(lambda connection, index=index: note(f"n{index}")(connection) or index) == index
        versions.append(store.version())
        name, token = (store.files.root / "CURRENT").read_text().split()
        assert store.catalogue() == store.files.root / name
        assert versions[-1] == f"{index + 1}-{token}"
        assert notes(store) == [f"n{k}" for k in range(index + 1)]
    assert len(set(versions)) == 6
    assert catalogues(store) == [f"gen-{k:06d}.duckdb" for k in (3, 4, 5)]
    assert KEEP == 3


def test_versions_do_not_repeat_when_an_old_store_is_put_back(store):
    store.write(note("a"))
    before = (store.files.root / "CURRENT").read_text()
    store.write(note("b"))
    second = store.version()
    (store.files.root / "CURRENT").write_text(before)
    assert notes(store) == ["a"]
    store.write(note("c"))
    assert store.version().startswith("2-") and store.version() != second
    assert notes(store) == ["a", "c"]


def test_catalogues_beyond_the_pointer_are_removed(store):
    for index in range(3):
        store.write(note(f"n{index}"))
    first = catalogues(store)[0]
    for number in (7, 8, 9, 10, 1_000_000):
        (store.files.root / f"gen-{number:06d}.duckdb").write_bytes(b"left by a restored backup")
    (store.files.root / "gen-000003 (copy).duckdb").write_bytes(b"somebody's own")
    (store.files.root / "CURRENT").write_text(f"{first} 0badc0de\n")
    store.write(note("again"))
    assert notes(store) == ["again", "n0"]
    assert catalogues(store) == ["gen-000001.duckdb", "gen-000002.duckdb", "gen-000003 (copy).duckdb"]


def test_a_reader_sees_the_new_version_and_keeps_what_it_holds(store):
    store.write(note("a"))
    reader = open_store(store.url)
    snapshot = reader.snapshot()
    assert reader.snapshot().version == snapshot.version
    store.write(note("b"))
    assert notes(reader) == ["a", "b"]
    assert snapshot.rows("select dataset from datasets") == [("a",)]
    assert reader.snapshot().version == store.version() != snapshot.version


def test_a_snapshot_can_only_read(store):
    store.write(note("a"))
    with pytest.raises(duckdb.Error, match="read-only"):
        store.snapshot().connection.execute("delete from datasets")
    with pytest.raises(duckdb.Error, match="disabled"):
        store.snapshot().connection.execute("from read_csv('/etc/passwd')")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, duckdb.ConstraintException])
def test_nothing_is_left_of_a_change_that_raises(store, error):
    store.write(note("a"))
    before = store.version(), catalogues(store)

    def change(connection):
        note("b")(connection)
        raise error("stop")

    with pytest.raises(error, match="stop"):
        store.write(change)
    assert (store.version(), catalogues(store)) == before
    assert notes(store) == ["a"]
    store.write(note("c"))
    assert notes(store) == ["a", "c"]


def test_a_first_change_that_raises_leaves_an_empty_store(store):
    with pytest.raises(ZeroDivisionError):
        store.write(lambda connection: 1 / 0)
    assert store.version() == "0"
    assert catalogues(store) == []
    assert notes(store) == []


def test_leftovers_of_killed_writers_are_removed(store):
    store.write(note("a"))
    names = ("gen-000002.duckdb", "gen-000009.duckdb.part", "gen-000007.duckdb")
    left = [*names, *(f"{name}.wal" for name in names), "CURRENT.tmp"]
    for name in left:
        (store.files.root / name).write_bytes(b"half written")
    spilled = store.files.root / "gen-000002.duckdb.tmp"
    spilled.mkdir()
    (spilled / "block").touch()
    assert notes(store) == ["a"]
    store.write(note("b"))
    names = sorted(path.name for path in store.files.root.iterdir())
    assert names == ["CURRENT", "LOCK", "gen-000001.duckdb", "gen-000002.duckdb"]
    assert notes(store) == ["a", "b"]


def test_a_leftover_log_is_not_replayed(store):
    store.write(note("a"))
    (store.files.root / "gen-000002.duckdb.wal").write_bytes(b"half written")
    store.write(note("b"))
    assert notes(store) == ["a", "b"]


DAMAGE = {
    "no pointer": (lambda folder: (folder / "CURRENT").unlink(), "CURRENT, which names the version in force, is gone"),
    "an empty pointer": (lambda folder: (folder / "CURRENT").write_text(""), "CURRENT does not name a version"),
    "nonsense for a pointer": (lambda folder: (folder / "CURRENT").write_text("nonsense"), "CURRENT does not name a version"),
    "bytes for a pointer": (lambda folder: (folder / "CURRENT").write_bytes(b"\xff"), "CURRENT does not name a version"),
    "a path for a pointer": (lambda folder: (folder / "CURRENT").write_text("../x 1"), "CURRENT does not name a version"),
    "a lost version": (lambda folder: (folder / "gen-000004.duckdb").unlink(), "gen-000004.duckdb, is gone"),
    "another file": (
        lambda folder: (folder / "gen-000004.duckdb").write_bytes(b"x" * 9000),
        "gen-000004.duckdb, is not what was written",
    ),
}


def four_versions(store, folder):
    for name in "abcd":
        store.write(note(name))


@pytest.mark.parametrize(("spoil", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_store_is_named_and_nothing_in_it_is_changed(prefilled, spoil, message):
    store = prefilled(four_versions)
    store.snapshot()
    spoil(store.files.root)
    left = {path.name: path.read_bytes() for path in store.files.root.iterdir()}
    for damaged in (store, open_store(store.url, threads=1)):
        with pytest.raises(StoreError, match=message):
            open_store(store.url).snapshot()
        with pytest.raises(StoreError):
            damaged.write(note("e"))
        assert {path.name: path.read_bytes() for path in store.files.root.iterdir()} == left


def test_a_store_whose_folder_is_gone_is_not_created_again(store):
    store.write(note("a"))
    store.snapshot()
    shutil.rmtree(store.files.root)
    for use in (store.version, store.snapshot, lambda: store.write(note("b"))):
        with pytest.raises(DamagedStore, match="its folder is gone"):
            use()
    assert not store.files.root.exists()


@pytest.mark.parametrize("name", ["no pointer", "an empty pointer", "a lost version", "another file"])
def test_the_newest_whole_version_is_restored(prefilled, name):
    store = prefilled(four_versions)
    DAMAGE[name][0](store.files.root)
    before = {path.name: path.read_bytes() for path in store.files.root.glob("gen-*")}
    damaged = open_store(store.url, threads=1)
    assert damage_of(damaged) is not None
    newest = next(version for version in versions_on_disk(damaged) if version.damage is None)
    assert newest.name == ("gen-000004.duckdb" if "pointer" in name else "gen-000003.duckdb")
    damaged.restore(newest.name)
    assert notes(damaged) == ["a", "b", "c", "d"][: newest.datasets]
    assert {path.name: path.read_bytes() for path in store.files.root.glob("gen-*")} == before
    assert damage_of(damaged) is None
    damaged.write(note("e"))
    assert "e" in notes(damaged)


def test_damage_within_a_version_is_found_before_it_is_restored(store):
    store.write(note("a"))
    store.write(
        lambda connection: connection.execute(
            "insert into datasets (dataset, position, title, kind, simulated, content) "
            "select hash(i), 0, '', 'single', false, '' from range(99999) t(i)"
        )
    )
    spoil_file(store.files.root / "gen-000002.duckdb")
    (store.files.root / "CURRENT").unlink()
    newest, older = versions_on_disk(open_store(store.url, threads=1))
    assert newest.damage is not None and "checksum" in newest.damage
    assert (older.damage, older.datasets, older.runs) == (None, 1, 0)


def test_a_first_write_that_was_killed_is_no_damage(store):
    kill_writer(store, "change")
    assert catalogues(store) == ["gen-000001.duckdb.part"]
    assert (store.version(), notes(store), damage_of(store)) == ("0", [], None)
    store.write(note("a"))
    assert (notes(store), catalogues(store)) == (["a"], ["gen-000001.duckdb"])


def test_a_store_of_another_version_is_refused(store):
    store.write(lambda connection: connection.execute("alter table runs add column colour varchar"))
    for use in (lambda: open_store(store.url).snapshot(), lambda: store.write(note("a"))):
        with pytest.raises(StoreError, match="made by another version of Clueline; use that version, or start a new store"):
            use()
    assert catalogues(store) == ["gen-000001.duckdb"]


def test_files_are_synced_before_the_pointer_moves(store, monkeypatch):
    store.write(note("a"))
    synced = []

    def record(handle):
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        synced.append((path.name, (store.files.root / "CURRENT").read_text()[:10]))

    monkeypatch.setattr(os, "fsync", record)
    store.write(note("b"))
    folder = store.files.root.name
    assert synced == [
        ("gen-000002.duckdb.part", "gen-000001"), (folder, "gen-000001"),
        ("CURRENT.tmp", "gen-000001"), (folder, "gen-000002"),
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_raises_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(tmp_path / "file" / "store").write(note("a"))


def test_an_address_that_is_no_store_is_refused():
    for url in (
        "ducklake:postgres:host=db", "s3://bucket/x", "postgres://ann:secret@db/lab", "postgres://ann:secret@db/lab?objects=x",
        "postgres://db/lab?objects=gs://bucket/x",
    ):  # fmt: skip
        with pytest.raises(StoreError, match="objects=") as refused:
            open_store(url)
        assert "secret" not in str(refused.value)


def test_threads_read_while_others_write(store):
    check_reading_while_writing(store, store)


def _write_many(folder, name, count, ready):
    store = open_store(folder, threads=1)
    ready.wait()
    for index in range(count):
        store.write(note(f"{name}{index}"))


def _read_many(folder, ready, done, results):
    store = open_store(folder, threads=1)
    seen = []
    ready.wait()
    while not done.is_set():
        snapshot = store.snapshot()
        seen.append((int(snapshot.version.split("-")[0]), snapshot.rows("select count(*) from datasets")[0][0]))
    results.put(seen)


def test_processes_write_and_read_at_once(store):
    ready, done, results = NEW_PROCESS.Barrier(3), NEW_PROCESS.Event(), NEW_PROCESS.Queue()
    writer = NEW_PROCESS.Process(target=_write_many, args=(store.files.root, "x", 4, ready))
    reader = NEW_PROCESS.Process(target=_read_many, args=(store.files.root, ready, done, results))
    for process in (writer, reader):
        process.start()
    _write_many(store.files.root, "y", 4, ready)
    writer.join(300)
    assert writer.exitcode == 0
    done.set()
    seen = results.get(timeout=300)
    reader.join(300)
    assert notes(store) == [f"{name}{index}" for name in "xy" for index in range(4)]
    assert store.version().startswith("8-")
    assert all(version == rows for version, rows in seen)
    assert [version for version, _ in seen] == sorted(version for version, _ in seen)


KILLED = """
import os, signal, sys
from pathlib import Path
from clueline.data.store import open_store
from clueline.data.store.audit import new_event
store = open_store(sys.argv[1], threads=1)
def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
def change(connection):
    connection.execute(
        "insert into datasets (dataset, position, title, kind, simulated, content) "
        "select 'b' || i, 0, '', 'single', false, '' from range(20000) t(i)"
    )
    if sys.argv[2] == "change":
        die()
if sys.argv[2] == "sync":
    os.fsync = die
if sys.argv[2] == "point":
    Path.replace = die
if sys.argv[2] == "moved":
    replace = Path.replace
    Path.replace = lambda *paths: die(replace(*paths))
if sys.argv[2] == "recorded":  # the events are in the audit, but not yet removed from where they waited
    unlink = Path.unlink
    Path.unlink = lambda path, **options: die() if path.name.startswith("audit") and path.exists() else unlink(path, **options)
if sys.argv[2] == "clean":  # the pointer has moved, and old generations are looked for
    glob = Path.glob
    def glob_or_die(folder, pattern):
        return die() if "gen-000002" in (store.files.root / "CURRENT").read_text() else glob(folder, pattern)
    Path.glob = glob_or_die
store.write(change, lambda result: [new_event("graded", "ann", dataset="toy")])
"""


def kill_writer(store, moment):
    killed = subprocess.run([sys.executable, "-c", KILLED, store.files.root, moment], cwd=ROOT, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("moment", "landed"),
    [("change", False), ("sync", False), ("point", False), ("moved", True), ("recorded", True), ("clean", True)],
)
def test_a_writer_killed_at_any_moment_leaves_the_store_whole(store, moment, landed):
    store.write(note("a"))
    before = store.version()
    kill_writer(store, moment)
    assert (store.version() != before) is landed
    recorded = [event.action for event in Audit(store.register).page(9)]
    assert recorded == ["graded"] * landed
    assert len(notes(open_store(store.url))) == (20001 if landed else 1)
    store.write(note("c"))  # neither the lock nor the leftovers prevent it
    assert "c" in notes(store) and len(notes(store)) == (20002 if landed else 2)
    names = [path.name for path in store.files.root.iterdir()]
    assert all(re.fullmatch(r"CURRENT|LOCK|audit\.(jsonl|lock)|gen-\d{6}\.duckdb", name) for name in names), names
    assert [event.action for event in Audit(store.register).page(9)] == recorded


def test_text_that_looks_like_a_parameter_stays_text(store):
    """Some queries contain ids of questions as texts."""
    snapshot = store.snapshot()
    assert snapshot.frame("select '$d' as x").rows() == [("$d",)]
    assert snapshot.frame("select '$other' as x, $d as y", {"d": "it's"}).rows() == [("$other", "it's")]


def test_a_query_is_computed_once_for_each_snapshot(tmp_path):
    asked = []

    @once_per_snapshot
    def query(snapshot, name, *, twice=False):
        asked.append((snapshot.grading, name, twice))
        return name * (2 if twice else 1)

    store = open_store(tmp_path)
    snapshot = store.snapshot()
    assert [query(snapshot, "a"), query(snapshot, "a", twice=True), query(snapshot, "a")] == ["a", "aa", "a"]
    assert [query(snapshot.with_grading("second"), "a"), query(snapshot.with_grading("second"), "a")] == ["a", "a"]
    assert query(store.snapshot(), "a") == "a", "another request does not keep what this one asked"
    assert asked == [("", "a", False), ("", "a", True), ("second", "a", False), ("", "a", False)]
