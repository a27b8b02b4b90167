"""Files of runs: written once, verified by checksum, readable by other tools, and removed when no catalogue names them."""

import os
import time
from contextlib import contextmanager
from functools import partial

import polars as pl
import pytest

from clueline.data.importing.report import Refused
from clueline.data.store import DamagedStore, StoreError, open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.files import StoreFiles
from clueline.data.store.repair import damage_of
from clueline.data.store.run_files import KINDS, Objects, all_objects, stored_objects
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import QUESTIONS, content, put, put_file, put_two_runs, write
from tests.helpers.store_notes import spoil_file


@pytest.fixture
def toy(prefilled):
    """A store with two runs."""
    return prefilled(put_two_runs)


def files(store):
    root = store.files.root / "objects"
    return {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file() and path.name != "SWEPT"}


def change_pointing(store, monkeypatch, point):
    """Make writers call ``point(lock, ...)`` instead of ``lock.point(...)``."""
    locked = store.register.locked

    class Changed:
        def __init__(self, lock):
            self.check = lock.check
            self.point = partial(point, lock)

    @contextmanager
    def changed(*args):
        with locked(*args) as lock:
            yield Changed(lock)

    monkeypatch.setattr(store.register, "locked", changed)


def named(store):
    return {part.name for part in all_objects(store.snapshot().connection)}


def test_each_run_has_one_file_of_each_kind(toy):
    parts = all_objects(toy.snapshot().connection)
    assert len(parts) == 4 and {part.kind for part in parts} == {*KINDS}
    assert {part.name for part in parts} == {*files(toy)}
    for part in parts:
        assert part.bytes == files(toy)[part.name].stat().st_size
        assert len(pl.read_parquet(files(toy)[part.name])) == part.rows


def test_other_tools_read_a_partitioned_table(toy):
    """The tool here is Polars: run and dataset come from the path."""
    root = toy.files.root / "objects/responses"
    table = pl.scan_parquet(root / "**/*.parquet", hive_partitioning=True).collect()
    runs = toy.snapshot().rows("select run, dataset, items from runs order by run")
    counts = table.group_by("run", "dataset").len().sort("run")
    assert [(str(run), dataset, count) for run, dataset, count in counts.iter_rows()] == runs


def test_an_upload_leaves_earlier_files_alone(toy, tmp_path):
    before = {name: path.stat().st_mtime_ns for name, path in files(toy).items()}
    put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    withdraw(toy, toy.snapshot().rows("select run from runs")[0][0], None)
    after = {name: path.stat().st_mtime_ns for name, path in files(toy).items()}
    assert before.items() <= after.items() and len(after) == len(before) + 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_file, "is not what was written"),
        (os.unlink, "is gone"),
        (lambda path: path.write_bytes(b""), "is not what was written"),
    ],
    ids=["a bit", "gone", "empty"],
)
def test_a_damaged_file_is_named_and_never_served(toy, kind, spoil, message):
    part = stored_objects(toy.snapshot().connection, kind, dataset="toy")[1]
    before = leaderboard(toy.snapshot(), Selection("toy"), METRICS) if kind == "statistics" else None
    spoil(toy.objects.path(part.name))
    opened = open_store(toy.url, threads=1)
    with pytest.raises(DamagedStore, match=f"{part.name} {message}"):
        opened.objects.check([part])
    if kind == "statistics":
        after = leaderboard(opened.snapshot(), Selection("toy"), METRICS)
        assert after == before, "statistics are computed again from the responses"
    else:
        with pytest.raises(DamagedStore, match=part.name):
            opened.snapshot().read_runs(kind, [part.run], ["question_id"])
    assert part.name in str(damage_of(opened))
    whole = stored_objects(toy.snapshot().connection, kind, dataset="toy")[0]
    column = {"responses": "clue", "statistics": "position"}[kind]
    assert len(opened.snapshot().read_runs(kind, [whole.run], [column])[whole.run]) == whole.rows


def test_damage_after_the_first_reading_is_found_by_a_repair(toy):
    part = all_objects(toy.snapshot().connection)[0]
    assert damage_of(toy) is None
    spoil_file(toy.objects.path(part.name))
    assert part.name in str(damage_of(toy))


def test_runs_come_in_the_order_asked_for(toy):
    snapshot = toy.snapshot()
    runs = [run for (run,) in snapshot.rows("select run from runs order by run desc")]
    for order in (runs, runs[::-1]):
        assert [part.run for part in stored_objects(snapshot.connection, "responses", runs=order)] == order
        rows = snapshot.rows(f"select run from {snapshot.responses(order)}")
        assert list(dict.fromkeys(run for (run,) in rows)) == order
    assert snapshot.rows(f"select * from {snapshot.responses([])}") == []
    assert snapshot.read_runs("statistics", ["no such run"], ["items"])["no such run"].is_empty()


def test_files_that_are_not_published_are_removed(toy, tmp_path, monkeypatch):
    before = files(toy)

    def fail(*args):
        raise OSError("the disk is full")

    with monkeypatch.context() as full:
        change_pointing(toy, full, fail)
        with pytest.raises(Exception, match="the disk is full"):
            put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    assert files(toy) == before
    (tmp_path / "bad.csv").write_text("question_id,clue,confidence\nq9,0,7\n")
    with pytest.raises(Refused):
        put(toy, tmp_path / "bad.csv", dataset="toy", model="gamma")
    assert files(toy) == before


def test_a_writer_that_fails_leaves_no_file(tmp_path):
    objects = Objects(StoreFiles(tmp_path))

    def write(path):
        path.write_bytes(b"half")
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        objects.add("responses", "d", "r", write)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_files_in_no_catalogue_go_at_the_second_sweep(toy):
    """Until then, an import that is under way keeps its files."""
    left = toy.files.root / "objects/responses/dataset=toy/run=00/half.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"left by a killed import")
    for remains in (True, False):
        toy.objects.sweep(lambda: named(toy), pause=0)
        assert left.exists() == remains
        assert named(toy) <= {*files(toy)}
    assert not left.parent.exists()


def test_between_sweeps_nothing_is_searched(toy):
    toy.objects.sweep(lambda: named(toy), pause=0)

    def searched():
        raise AssertionError("searched again")

    toy.objects.sweep(searched)
    notes = toy.files.root / "objects/SWEPT"
    _, *names = notes.read_text().splitlines()
    notes.write_text("\n".join([str(time.time() - 7200), *names]))
    with pytest.raises(AssertionError):
        toy.objects.sweep(searched)


@pytest.mark.parametrize("notes", ["", "nonsense", "99999999999\nresponses/x"])
def test_damaged_notes_of_a_sweep_are_no_obstacle(toy, notes):
    (toy.files.root / "objects/SWEPT").write_text(notes)
    toy.objects.sweep(lambda: named(toy))
    assert int((toy.files.root / "objects/SWEPT").read_text().splitlines()[0]) <= time.time()
    assert {*files(toy)} == named(toy)


def test_responses_are_written_again_only_where_grades_change(toy, tmp_path):
    text = "question_id,clue,guess,confidence,correct\nq1,0,Rome,0.25,1\nq2,1,Nile,1,0\n"
    put_file(toy, tmp_path / "stated.csv", text, dataset="toy", model="stated")
    before = {(part.kind, part.run): part.name for part in all_objects(toy.snapshot().connection)}
    put(toy, write(tmp_path / "again", questions=QUESTIONS.replace("Paris", "Rome")), replace=True)
    after = {(part.kind, part.run): part.name for part in all_objects(toy.snapshot().connection)}
    model = dict(toy.snapshot().rows("select run, model from runs"))
    changed = {(kind, model[run]) for kind, run in before if before[kind, run] != after[kind, run]}
    models = ("alpha", "beta", "stated")
    of_rules = {("grades.graded", "stated"), ("statistics.graded", "stated")}  # in addition to the grades that the file states
    assert changed == {("statistics", name) for name in models} | {("responses", name) for name in models[:2]} | of_rules
    snapshot = toy.snapshot()
    assert snapshot.rows(f"select guess, correct from {snapshot.responses([*model])} where question_id = 'q1' and clue < 2") == [
        ("Rome", 1.0), ("Paris", 0.0), ("Rome", 1.0), ("Paris", 0.0), ("Rome", 1.0)]  # fmt: skip


def test_a_published_run_stays_if_a_later_step_fails(toy, tmp_path, monkeypatch):
    """The pointer has moved, but its folder cannot be synced: the import fails, and what it published is whole."""

    def move_and_fail(lock, *pointer):
        lock.point(*pointer)
        raise OSError("the disk is gone")

    with monkeypatch.context() as failing:
        change_pointing(toy, failing, move_and_fail)
        with pytest.raises(StoreError, match="the disk is gone"):
            put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    opened = open_store(toy.url, threads=1)
    assert damage_of(opened) is None
    assert [model for (model,) in opened.snapshot().rows("select model from runs order by 1")] == ["alpha", "beta", "gamma"]


def test_an_import_succeeds_even_if_the_cleaning_fails(toy, tmp_path, monkeypatch):
    sweeps = []

    def fail_afterwards(*args):
        sweeps.append(args)
        if len(sweeps) == 2:
            raise OSError("read-only")

    monkeypatch.setattr("clueline.data.store.store.sweep", fail_afterwards)
    run = put(toy, tmp_path / "run.csv", dataset="toy", model="gamma").runs[0]
    assert len(sweeps) == 2 and damage_of(open_store(toy.url, threads=1)) is None
    assert toy.snapshot().rows("select model from runs where run = $r", {"r": run}) == [("gamma",)]


def test_a_backup_replaces_damaged_files(toy, tmp_path):
    back_up(toy, tmp_path / "saved")
    before = content(toy)
    part = all_objects(toy.snapshot().connection)[0]
    spoil_file(toy.objects.path(part.name))
    damaged = open_store(toy.url, threads=1)
    assert damage_of(damaged) is not None
    restore_backup(damaged, tmp_path / "saved")
    assert damage_of(open_store(toy.url, threads=1)) is None
    assert content(open_store(toy.url, threads=1)) == before
