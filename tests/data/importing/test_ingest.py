"""Imports at the same time as others, with little memory, and of large files."""

import multiprocessing
import random
import re

import duckdb
import pytest

from clueline.data.importing import ingest, table_contract
from clueline.data.importing.report import Report
from clueline.data.importing.staging import ImportOptions
from clueline.data.importing.table_contract import responses_columns, stage
from clueline.data.importing.table_files import TableFile
from clueline.data.store import StoreError, open_store
from tests.helpers import bundle_factory as bundles

NEW_PROCESS = multiprocessing.get_context("spawn")


def models(store):
    return [row[0] for row in store.snapshot().rows("select model from runs order by position")]


def _import_run(folder, run, model, ready):
    store = open_store(folder, threads=1)
    ready.wait()
    ingest.import_paths(store, [run], ImportOptions(dataset="toy", model=model))


def test_concurrent_imports_of_two_processes_are_both_stored(toy, tmp_path):
    run = tmp_path / "run.csv"
    run.write_text(bundles.RESPONSES)
    ready = NEW_PROCESS.Barrier(2)
    processes = [NEW_PROCESS.Process(target=_import_run, args=(toy.files.root, run, name, ready)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        assert process.exitcode == 0
    assert sorted(models(toy)) == ["a", "b"]
    positions = toy.snapshot().rows("select count(distinct position), count(distinct run) from runs")
    assert positions == [(2, 2)]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (duckdb.OutOfMemoryException("no more"), r"needs more memory than it may use; allow more, or split the file"),
        (duckdb.IOException("No space left on device"), "cannot work with its files: No space left on device"),
        (OSError(28, "No space left on device"), "cannot work with its files"),
    ],
)
def test_limits_of_the_machine_are_reported(store, tmp_path, monkeypatch, error, message):
    def fail(area, options):
        raise error

    monkeypatch.setattr(ingest, "run_checks", fail)
    with pytest.raises(StoreError, match=message):
        bundles.put(store, bundles.write(tmp_path / "toy"))
    assert store.version() == "0"


def test_progress_names_what_is_done(tmp_path):
    """Little memory is enough."""
    steps, store = [], open_store(tmp_path / "store", threads=1, memory_limit="200MB")
    folder = bundles.write(tmp_path / "toy", responses=bundles.RESPONSES)
    ingest.import_paths(
        store, [folder], ImportOptions(model="m"), names=["upload.zip"], progress=lambda *step: steps.append(step)
    )
    assert steps == [("reading upload.zip", 0, 3), ("checking and grading", 1, 3), ("storing", 2, 3), ("done", 3, 3)]
    assert store.snapshot().rows("select file_name from runs") == [("upload.zip/responses/run.csv",)]


def test_scratch_files_are_gone(store, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    bundles.put(store, bundles.write(tmp_path / "toy", responses=bundles.RESPONSES), model="m")
    with pytest.raises(Exception, match="no such question"):
        bundles.put(store, bundles.write(tmp_path / "toy", responses=bundles.RESPONSES.replace("q2", "q3")), model="m")
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("breaks", ["\n", "\r\n"])
def test_a_bad_row_far_down_a_large_file(tmp_path, breaks, monkeypatch):
    """Several threads read a file in blocks; rows keep their order and problems their line numbers."""
    smaller = re.sub(r"(max_line_size|buffer_size) = \d+", r"\1 = 1000000", table_contract.READ)
    monkeypatch.setattr(table_contract, "READ", smaller)
    chance = random.Random(3)
    path = tmp_path / "run.csv"
    rows = [f'q{i},{i % 7},"a{breaks}b",0.5' if chance.random() < 0.3 else f"q{i},{i % 7},plain,0.5" for i in range(150_000)]
    bad = (7, 77_777, 149_990)
    for i in bad:
        rows[i] = f"q{i},0,x,80"
    path.write_text(breaks.join(["question_id,clue,guess,confidence", *rows]), newline="")
    with duckdb.connect(config={"threads": 4}) as connection:
        report = Report()
        stage(connection, TableFile(path, tmp_path), responses_columns(percent=False), "loaded", report)
        assert [problem.line for problem in report.problems] == [2 + i + sum(row.count(breaks) for row in rows[:i]) for i in bad]
        assert connection.execute("select count(*) from loaded where question_id <> 'q' || (ordinal - 1)").fetchall() == [(0,)]


def test_names_with_invisible_characters_are_refused(toy, tmp_path):
    names = ["gpt\x07", "gpt\n4", "\u202egpt", "gpt\u2066"]
    lines = [f'q1,0,Rome,0.5,"{name}",e\nq1,0,Rome,0.5,m{number},"{name}"\n' for number, name in enumerate(names)]
    path = tmp_path / "run.csv"
    path.write_text("".join(["question_id,clue,guess,confidence,model,elicitation\n", *lines]))
    problems = bundles.refusal(toy, path, dataset="toy").problems
    assert sorted((p.column, p.value) for p in problems) == sorted((c, name) for c in ("model", "elicitation") for name in names)
    assert all("control character" in problem.reason for problem in problems)


def test_names_in_any_script_are_accepted(toy, tmp_path):
    names = ["模型 🦉", "نموذج", "a\u200db", "Ä/b:c@d"]  # with the joiner that emoji and some scripts need
    lines = [f"q1,{clue},Rome,0.5,{name}\n" for name in names for clue in (0, 1)]
    bundles.put_answers(toy, tmp_path, "".join(["question_id,clue,guess,confidence,model\n", *lines]), model=None)
    assert sorted(models(toy)) == sorted(names)


def test_rows_are_the_same_converted_once_or_in_each_query(store, folder, tmp_path, monkeypatch):
    bundles.write(folder, **bundles.TEXTS)
    bundles.put(store, folder, model="m")
    monkeypatch.setattr(table_contract, "SMALL_TABLE", -1)
    other = open_store(tmp_path / "other", threads=1)
    bundles.put(other, folder, model="m")
    assert bundles.content(other) == bundles.content(store)
