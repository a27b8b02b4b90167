"""A DuckLake catalogue over the files of a store, as read by a DuckDB without Clueline's code."""

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib import resources

import duckdb
import pytest

from clueline.data.store import DamagedStore, Store, StoreError, ducklake, open_store
from clueline.data.store.ducklake import make_lake
from clueline.data.store.files import StoreFiles
from clueline.data.store.location import Location
from clueline.data.store.run_files import all_objects
from clueline.data.store.run_withdrawal import withdraw
from tests.helpers.bundle_factory import RESPONSES, put, put_file, write
from tests.helpers.paths import ROOT
from tests.helpers.run_tables import with_runs

EXTENSION = resources.files("duckdb_extension_ducklake") / f"extensions/v{duckdb.__version__}/ducklake.duckdb_extension"
KILLED = """
import os, sys
from pathlib import Path
from clueline.data.store import ducklake, open_store
ducklake.stored_objects = lambda *arguments: os._exit(9)
ducklake.make_lake(open_store(sys.argv[1]), Path(sys.argv[2]))
"""


def two_runs(store, folder):
    put(store, write(folder / "toy", responses=RESPONSES), model="alpha")
    text = "question_id,clue,guess,confidence,prompt\nq1,0,Rome,0.25,terse\nq2,1,Nile,1,terse\n"
    put_file(store, folder / "run.csv", text, dataset="toy", model="beta")


@pytest.fixture
def toy(prefilled):
    return prefilled(two_runs)


@contextmanager
def opened(path, mode=" (read_only)"):
    """Yield a function that returns the rows of a query, as a DuckDB without our code reads them."""
    with duckdb.connect() as connection:
        connection.execute(f"load '{EXTENSION}'; attach 'ducklake:{path}' as lab{mode}")
        yield lambda sql: connection.execute(sql).fetchall()


def count_runs(path):
    with opened(path) as ask:
        ((count,),) = ask("select count(*) from lab.runs")
    return count


def test_another_duckdb_reads_the_tables(toy, tmp_path):
    withdraw(toy, toy.snapshot().rows("select run from runs where model = 'alpha'")[0][0], "ann")
    path = tmp_path / "lab.ducklake"
    names = make_lake(toy, path)
    assert {"responses", "response_attributes", "statistics", "runs", "questions"} <= {*names} and "objects" not in names
    parts = [part for part in all_objects(toy.snapshot().connection) if part.kind == "responses"]
    with opened(path) as ask:
        sql = "select model, count(*), sum(confidence) from {} group by 1 order by 1"
        ours = with_runs(toy).rows(sql.format("responses join runs using (run)"))
        assert ask(sql.format("lab.responses join lab.runs using (dataset, run)")) == ours
        sql = "select sum(items), sum(correct) from {}statistics"
        assert ask(sql.format("lab.")) == with_runs(toy).rows(sql.format(""))
        assert ask("select count(withdrawn_at) from lab.runs") == [(1,)]
        sql = "select attributes['prompt'], count(*) from lab.responses group by 1 order by 1"
        assert ask(sql) == [("terse", 2), (None, 5)]
        listed = ask("select data_file from ducklake_list_files('lab', 'responses')")
    assert {path for (path,) in listed} == {str(toy.objects.path(part.name)) for part in parts}, "files of runs are copied"
    # It can be written again after an import.
    for name in ("lab.ducklake.part", "lab.ducklake.part.wal", "lab.ducklake.wal.old"):
        path.with_name(name).write_text("mine")
    put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    assert count_runs(path) == 2
    make_lake(toy, path)
    assert count_runs(path) == 3
    beside = {file.name: file.read_text() for file in tmp_path.iterdir() if ".part" in file.name}
    assert beside == {"lab.ducklake.part": "mine", "lab.ducklake.part.wal": "mine"}


@pytest.fixture
def lake(toy, tmp_path):
    """The path of a lake that is complete."""
    path = tmp_path / "lakes" / "lab.ducklake"
    make_lake(toy, path)
    return path


def contents(folder):
    """Return the files and links below a folder, with their contents."""
    return {path: path.readlink() if path.is_symlink() else path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


def a_folder(path):
    path.mkdir()
    (path / "file").write_text("mine")
    return path


def other_lake(path):
    with opened(path, mode="") as ask:
        ask("create table lab.main.runs (a int)")


def beside(path):
    return path.with_name(f"{path.name}.files")


# What can be at the path of a lake, or beside it, and is not a lake of a store.
OTHERS = {
    "text": lambda path, store: path.write_text("mine"),
    "database": lambda path, store: duckdb.connect(path).execute("create table ducklake_table (table_name text)").close(),
    "lake of somebody else": lambda path, store: other_lake(path),
    "catalogue of a store": lambda path, store: shutil.copy(store.catalogue(), path),
    "folder": lambda path, store: a_folder(path),
    "folder beside": lambda path, store: a_folder(beside(path)),
    "file beside": lambda path, store: beside(path).write_text("mine"),
    "link beside": lambda path, store: beside(path).symlink_to(a_folder(path.with_name("other"))),
}


def test_nothing_but_a_lake_is_replaced(toy, tmp_path):
    for what, put_there in OTHERS.items():
        path = tmp_path / what / "lab.ducklake"
        path.parent.mkdir()
        put_there(path, toy)
        before = contents(path.parent)
        assert before
        with pytest.raises(StoreError, match="choose another path"):
            make_lake(toy, path)
        assert contents(path.parent) == before, what


def test_a_path_in_the_store_is_refused(toy, tmp_path):
    (tmp_path / "link").symlink_to(toy.catalogue())
    (tmp_path / "way").symlink_to(toy.local)
    (tmp_path / "lab.files").symlink_to(toy.local)
    before = contents(tmp_path)
    inside = [toy.local / name for name in ("CURRENT", "new.ducklake", "objects/new.ducklake")]
    for path in (*inside, toy.catalogue(), tmp_path / "link", tmp_path / "way" / "new", tmp_path / "lab"):
        with pytest.raises(StoreError, match="where only the store itself writes"):
            make_lake(toy, path)
        assert contents(tmp_path) == before, path


def test_the_folders_of_a_shared_store_are_refused(toy, tmp_path):
    """Such a store has a folder for objects and one of this host."""
    location = Location("", "", toy.register, StoreFiles(tmp_path / "objects"), tmp_path / "local")
    for folder in ("objects", "local"):
        with pytest.raises(StoreError, match="where only the store itself writes"):
            make_lake(Store(location, {}), tmp_path / folder / "lab.ducklake")


def test_a_failed_or_killed_lake_leaves_the_one_before(toy, lake, monkeypatch):
    before = contents(lake.parent)

    def fail(*arguments):
        raise duckdb.IOException("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(ducklake, "stored_objects", fail)
        for path in (lake, lake.with_name("new.ducklake")):
            with pytest.raises(StoreError, match="the disk is full"):
                make_lake(toy, path)
    assert contents(lake.parent) == before and not lake.with_name("new.ducklake.files").exists()
    command = [sys.executable, "-c", KILLED, toy.url, lake]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert killed.returncode == 9, killed.stderr
    assert contents(lake.parent).items() > before.items()
    assert count_runs(lake) == 2
    make_lake(toy, lake)
    assert len(list(lake.with_name("lab.ducklake.files").iterdir())) == 1


def test_failures_are_explained(toy, tmp_path, monkeypatch):
    with pytest.raises(StoreError, match="is empty"):
        make_lake(open_store(tmp_path / "none"), tmp_path / "lab.ducklake")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="the lake cannot be written"):
        make_lake(toy, tmp_path / "file" / "lab.ducklake")
    with monkeypatch.context() as bare:
        bare.setattr(ducklake, "PACKAGE", "no_such_package")
        with pytest.raises(StoreError, match="pip install duckdb-extension-ducklake=="):
            make_lake(toy, tmp_path / "lab.ducklake")
    part = all_objects(toy.snapshot().connection)[0]
    toy.objects.path(part.name).write_bytes(b"x")
    with pytest.raises(DamagedStore, match=re.escape(part.name)):
        make_lake(open_store(toy.url), tmp_path / "lab.ducklake")


def test_the_documented_version_matches_duckdb():
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    locked = re.search(r"^duckdb==(\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert f"duckdb-extension-ducklake=={locked}" in text
