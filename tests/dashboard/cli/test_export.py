"""``clueline export``: its files import again, with the same run ids and the same metrics."""

import csv
import hashlib
import json
import zipfile

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.query_to_file import Exporter
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.json_api import get
from tests.helpers.run_tables import with_runs


def everything(client, dataset, intervals=0):
    """Return what pages show of a dataset: runs, metrics (with intervals if wanted), questions and people."""
    board = get(client, f"/api/v1/leaderboard?dataset={dataset}&intervals={intervals}")
    board.pop("data_version")
    questions = get(client, f"/api/v1/questions?dataset={dataset}&limit=1000&metrics=brier,accuracy")
    questions.pop("data_version", None)
    (facts,) = [row for row in get(client, "/api/v1/datasets")["datasets"] if row["dataset"] == dataset]
    return {"leaderboard": board, "questions": questions, "facts": facts}


def check_close(before, after, where=""):
    """Check that two answers are equal, up to 1e-12 in numbers."""
    if isinstance(before, dict):
        assert set(before) == set(after), where
        for key in before:
            check_close(before[key], after[key], f"{where}/{key}")
    elif isinstance(before, list):
        assert len(before) == len(after), where
        for index, pair in enumerate(zip(before, after, strict=True)):
            check_close(*pair, f"{where}/{index}")
    elif isinstance(before, float) and isinstance(after, float):
        assert after == pytest.approx(before, rel=1e-12, abs=1e-12), where
    else:
        assert before == after, where


def emptied(store):
    """Return a store without datasets. Otherwise the bundled ones would be imported first."""
    opened = open_store(store)
    opened.write(lambda connection: None)
    return opened


CASES = [("pyramid", "csv", ".zip", 0), ("tone", "jsonl", "", 1), ("lifeeval", "parquet", "", 0)]


@pytest.mark.parametrize(("dataset", "form", "ending", "intervals"), CASES)
def test_a_dataset_imports_again(cli, client, copied, tmp_path, dataset, form, ending, intervals):
    bundle = tmp_path / f"bundle{ending}"
    done = cli("export", "dataset", dataset, bundle, "--format", form, store=copied)
    assert done.returncode == 0, done.stderr
    assert f"dataset {dataset}" in done.stdout
    if ending:  # the archive holds one folder
        assert {name.partition("/")[0] for name in zipfile.ZipFile(bundle).namelist()} == {dataset}
    fresh = emptied(tmp_path / "fresh")
    report = import_paths(fresh, [bundle], ImportOptions())
    assert report.warnings == []
    again = create_app(Settings(store=str(tmp_path / "fresh"), workers=1)).test_client()
    check_close(everything(client, dataset, intervals), everything(again, dataset, intervals))
    # The store that it comes from finds nothing new in it.
    store = open_store(copied)
    version = store.version()
    import_paths(store, [bundle], ImportOptions())
    assert store.version() == version


def test_the_bundle_of_a_private_dataset_stays_private(cli, copied, tmp_path):
    Tokens(open_store(copied).register).make_private("tone", [])
    assert cli("export", "dataset", "tone", tmp_path / "tone", store=copied).returncode == 0
    fresh = emptied(tmp_path / "fresh")
    import_paths(fresh, [tmp_path / "tone"], ImportOptions())
    assert Tokens(fresh.register).record().private == {"tone": ()}
    run = open_store(copied).snapshot().rows("select run from runs where dataset = 'tone'")[0][0]
    alone = cli("export", "run", run, tmp_path / "run.csv", store=copied)
    assert "The dataset tone is private; this file cannot say so." in alone.stdout


def test_a_withdrawn_run_is_left_out(cli, copied, tmp_path):
    store = open_store(copied)
    runs = [row[0] for row in store.snapshot().rows("select run from runs where dataset = 'tone' order by position")]
    withdraw(store, runs[0], "ann")
    done = cli("export", "dataset", "tone", tmp_path / "tone", store=copied)
    assert "5 runs; 1 withdrawn left out" in done.stdout
    names = sorted(path.name for path in (tmp_path / "tone" / "responses").iterdir())
    assert [name.split("-")[1].removesuffix(".csv") for name in names] == runs[1:]


def test_texts_are_exported_unchanged(cli, tmp_path):
    bundle = tmp_path / "odd"
    (bundle / "responses").mkdir(parents=True)
    facts = {"dataset": "odd", "title": 'A "title", ünï', "kind": "single", "note": "two\nlines", "licence": "MIT"}
    (bundle / "dataset.json").write_text(json.dumps(facts), encoding="utf-8")
    rows = [
        ["q,1", 'He said "no",\nand left', "=1+1", "A|B"],
        ["q2", "🙂 emoji", "'; drop table runs; --", ""],
        ["null", "null", "NULL", "null"],
    ]
    with (bundle / "questions.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([["question_id", "text", "answer", "category"], *rows])
    with (bundle / "responses" / "a.csv").open("w", encoding="utf-8", newline="") as out:
        table = [["question_id", "guess", "confidence", "model", "elicitation"]]
        table += [[row[0], row[2], "0.1", 'm "x"', "said, twice"] for row in rows]
        csv.writer(out).writerows(table)
    store = emptied(tmp_path / "store")
    import_paths(store, [bundle], ImportOptions())
    for form in ("csv", "jsonl", "parquet"):
        again = tmp_path / f"again-{form}"
        assert cli("export", "dataset", "odd", again, "--format", form, store=tmp_path / "store").returncode == 0
        assert json.loads((again / "dataset.json").read_text(encoding="utf-8")) == facts | {"simulated": False}
        fresh = emptied(tmp_path / f"fresh-{form}")
        import_paths(fresh, [again], ImportOptions())
        tables = ("select * exclude content from datasets", "select * from questions order by position", "select * from clues",
                  "select run, model, elicitation, sha256 from runs", "select * from responses order by question_id")  # fmt: skip
        for sql in tables:
            assert with_runs(fresh).rows(sql) == with_runs(store).rows(sql)


def test_a_run_imports_again(cli, copied, tmp_path):
    store = open_store(copied)
    runs = store.snapshot().rows("select run, dataset from runs order by position")
    for form, index in (("csv", 0), ("csv", -1), ("jsonl", -1), ("parquet", -1)):
        run, dataset = runs[index]
        path = tmp_path / f"{run}.{form}"
        done = cli("export", "run", run, path, store=copied)
        assert done.returncode == 0, done.stderr
        assert import_paths(store, [path], ImportOptions(dataset=dataset)).runs == [run]
    assert store.snapshot().rows("select run, dataset from runs order by position") == runs


def test_a_run_is_written_for_every_eval_ever(cli, copied, tmp_path):
    run, model = open_store(copied).snapshot().rows("select run, model from runs where dataset = 'tone' order by position")[0]
    done = cli("export", "run", run, tmp_path / "eee", "--format", "every-eval-ever", store=copied)
    assert done.returncode == 0, done.stderr
    results, records = sorted((tmp_path / "eee").rglob("*.json*"), key=lambda path: path.suffix)
    assert records.parent.relative_to(tmp_path / "eee").parts[:2] == ("data", "tone") and results.parent == records.parent
    stated = json.loads(results.read_text(encoding="utf-8"))
    detailed = stated["detailed_evaluation_results"]
    assert detailed["checksum"] == hashlib.sha256(records.read_bytes()).hexdigest()
    assert (tmp_path / "eee" / detailed["file_path"]) == records and records.name == f"{results.stem}_samples.jsonl"
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == detailed["total_rows"] == 180 and {line["model_id"] for line in lines} == {model}
    shares = [line["evaluation"]["score"] for line in lines]
    assert stated["evaluation_results"][0]["score_details"]["score"] == pytest.approx(sum(shares) / len(shares))


def test_existing_files_are_not_overwritten(cli, copied, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("x")
    (tmp_path / "mine.csv").write_text("x")
    for arguments in (("dataset", "tone", "notes"), ("run", "0123456789abcdef", "mine.csv")):
        done = cli("export", *arguments[:2], tmp_path / arguments[2], store=copied)
        assert done.returncode == 1 and "exists" in done.stderr
    assert (tmp_path / "notes" / "mine.txt").read_text() == (tmp_path / "mine.csv").read_text() == "x"


@pytest.mark.parametrize("name", ["tone.zip", "run.csv", "tone"])
def test_what_appears_meanwhile_is_not_overwritten(cli, copied, tmp_path, monkeypatch, name):
    write = Exporter.write
    run = open_store(copied).snapshot().rows("select run from runs limit 1")[0][0]

    def write_slowly(self, *arguments):
        (tmp_path / name).write_text("mine")
        write(self, *arguments)

    monkeypatch.setattr(Exporter, "write", write_slowly)
    what = ("run", run) if name == "run.csv" else ("dataset", "tone")
    done = cli("export", *what, tmp_path / name, store=copied)
    assert done.returncode == 1 and "already exists; choose another name" in done.stderr
    assert (tmp_path / name).read_text() == "mine" and {path.name for path in tmp_path.iterdir()} == {name, "store"}


def test_a_link_is_not_overwritten(cli, copied, tmp_path):
    (tmp_path / "link.zip").symlink_to(tmp_path / "nowhere")
    done = cli("export", "dataset", "tone", tmp_path / "link.zip", store=copied)
    assert done.returncode == 1 and "already exists" in done.stderr and (tmp_path / "link.zip").is_symlink()


def test_a_mistake_is_named_and_nothing_is_written(cli, copied, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    for (command, name, *dest), code, message in (
        (("dataset", "tony", "out"), 1, "There are: pyramid, lifeeval, tone."),
        (("run", "0123456789abcdef", "out.csv"), 1, "There is no run"),
        (("run", "0123456789abcdef", "out.xlsx"), 2, ".csv, .jsonl, .parquet"),
        (("dataset", "tone", "nowhere/out"), 1, "not a folder"), (("dataset", "tone"), 2, "Missing argument"),
    ):  # fmt: skip
        done = cli("export", command, name, *(folder / part for part in dest), store=copied)
        assert done.returncode == code and message in done.stderr
    assert list(folder.iterdir()) == []


def test_an_empty_store_exports_nothing(cli, tmp_path):
    done = cli("export", "dataset", "tone", tmp_path / "out", store=tmp_path / "store")
    assert done.returncode == 1 and "is empty" in done.stderr
    assert not (tmp_path / "store").exists() and not (tmp_path / "out").exists()
