"""A DuckLake catalogue over the files of a store, as read by a DuckDB without Clueline's code."""

import re
import subprocess
import sys
import textwrap

import pytest

from data.store import DamagedStore, StoreError, ducklake, open_store
from data.store.ducklake import make_lake
from data.store.run_files import all_objects
from data.store.run_withdrawal import withdraw
from tests.helpers.bundle_factory import RESPONSES, put, write
from tests.helpers.paths import ROOT
from tests.helpers.run_tables import with_runs

QUERY = """
import sys, duckdb
from importlib import resources
extension = resources.files("duckdb_extension_ducklake") / f"extensions/v{duckdb.__version__}/ducklake.duckdb_extension"
connection = duckdb.connect()
connection.execute(f"load '{extension}'")
connection.execute(f"attach 'ducklake:{sys.argv[1]}' as lab (read_only)")
for row in connection.execute(sys.argv[2]).fetchall():
    print(*row, sep="|")
"""


def two_runs(store, folder):
    put(store, write(folder / "toy", responses=RESPONSES), model="alpha")
    (folder / "run.csv").write_text("question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq2,1,Nile,1\n")
    put(store, folder / "run.csv", dataset="toy", model="beta")


@pytest.fixture
def toy(prefilled):
    return prefilled(two_runs)


def query(path, sql):
    """Return the rows that a DuckDB without our code reads."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(QUERY), str(path), sql], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [tuple(line.split("|")) for line in done.stdout.splitlines()]


def test_another_duckdb_reads_attributes_of_responses(store, tmp_path):
    header, *lines = RESPONSES.splitlines()
    answers = [f"{header},prompt", *(f"{line},terse" for line in lines)]
    put(store, write(tmp_path / "toy", responses="\n".join(answers)), model="alpha")
    assert "response_attributes" in make_lake(store, tmp_path / "lab.ducklake")
    sql = "select attributes['prompt'], count(*) from lab.responses group by 1 order by 1"
    assert query(tmp_path / "lab.ducklake", sql) == [("terse", "5")]


def test_another_duckdb_reads_the_tables(toy, tmp_path):
    withdraw(toy, toy.snapshot().rows("select run from runs where model = 'alpha'")[0][0], "ann")
    names = make_lake(toy, tmp_path / "lab.ducklake")
    assert {"responses", "statistics", "runs", "questions"} <= {*names} and "objects" not in names
    sql = "select model, count(*), sum(confidence) from {} group by 1 order by 1"
    ours = with_runs(toy).rows(sql.format("responses join runs using (run)"))
    theirs = query(tmp_path / "lab.ducklake", sql.format("lab.responses join lab.runs using (dataset, run)"))
    assert theirs == [tuple(map(str, row)) for row in ours]
    ours = with_runs(toy).rows("select sum(items), sum(correct) from statistics")
    assert query(tmp_path / "lab.ducklake", "select sum(items), sum(correct) from lab.statistics") == [tuple(map(str, ours[0]))]
    assert query(tmp_path / "lab.ducklake", "select count(withdrawn_at) from lab.runs") == [("1",)]


def test_files_of_runs_are_not_copied(toy, tmp_path):
    make_lake(toy, tmp_path / "lab.ducklake")
    paths = {
        path for (path,) in query(tmp_path / "lab.ducklake", "select data_file from ducklake_list_files('lab', 'responses')")
    }
    parts = [part for part in all_objects(toy.snapshot().connection) if part.kind == "responses"]
    assert paths == {str(toy.objects.path(part.name)) for part in parts}


def test_the_lake_can_be_written_again_after_an_import(toy, tmp_path):
    path = tmp_path / "lab.ducklake"
    make_lake(toy, path)
    put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    assert query(path, "select count(*) from lab.runs") == [("2",)]
    make_lake(toy, path)
    assert query(path, "select count(*) from lab.runs") == [("3",)]
    assert not [name.name for name in tmp_path.iterdir() if ".part" in name.name]


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
