"""Imports by the workers of a Dask cluster store the same runs, with the same metrics, as an import on one host."""

import csv

import duckdb
import polars as pl
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.repair import damage_of
from clueline.data.store.run_withdrawal import withdraw
from tests.helpers.bundle_factory import rows
from tests.helpers.metric_digests import metric_values
from tests.helpers.serving import run_cli
from tests.helpers.small_store import write_relay, write_spans
from tests.helpers.store_addresses import new_address

RUNS = "select run, dataset, model, elicitation, sha256, items, questions, missing_questions, failed from runs order by run"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Write the answers of seven runs to ``relay`` as one table, the bundle without them, and a second bundle."""
    folder = tmp_path_factory.mktemp("answers")
    write_relay(folder / "relay")
    lines = []
    for path in sorted((folder / "relay" / "responses").iterdir()):
        lines += list(csv.DictReader(path.open(encoding="utf-8")))
        path.unlink()
    write_spans(folder / "spans")
    table = pl.DataFrame(lines).with_columns(
        pl.col("clue").cast(pl.Int32), pl.col("confidence").cast(pl.Float64), pl.col("correct").cast(pl.Float64)
    )
    table.write_parquet(folder / "all.parquet")
    return folder


def new_store(answers, path):
    store = open_store(path, threads=1)
    import_paths(store, [answers / "relay", answers / "spans"], ImportOptions())
    return store


@pytest.fixture(scope="module")
def imported(answers, tmp_path_factory):
    """A store into which an import on one host put the answers."""
    store = new_store(answers, tmp_path_factory.mktemp("imported") / "store")
    import_paths(store, [answers / "all.parquet"], ImportOptions(dataset="relay"))
    return store


@pytest.fixture(scope="module")
def scheduler():
    """The address of the scheduler of a cluster of two processes."""
    from distributed import LocalCluster  # imported here so that other tests are collected faster

    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def by_run(answers, folder):
    """Write a file for each run, in folders named after its model and elicitation."""
    duckdb.sql(f"copy (from '{answers / 'all.parquet'}') to '{folder}' (format parquet, partition_by (model, elicitation))")


def in_slices(answers, folder):
    """Write files that each hold rows of many runs."""
    folder.mkdir()
    for number, part in enumerate(
        pl.read_parquet(answers / "all.parquet").sample(fraction=1, shuffle=True, seed=1).iter_slices(60)
    ):
        part.write_parquet(folder / f"{number}.parquet")


@pytest.mark.parametrize("write", [by_run, in_slices])
def test_a_batch_gives_the_runs_of_an_import(answers, imported, scheduler, tmp_path, write):
    write(answers, tmp_path / "answers")
    store = new_store(answers, tmp_path / "store")
    arguments = ("batch", tmp_path / "answers", "--dataset", "relay", "--scheduler", scheduler)
    done = run_cli(*arguments, store=store.url)
    assert done.returncode == 0 and "7 runs imported" in done.stdout, done.stderr
    assert store.snapshot().rows(RUNS) == imported.snapshot().rows(RUNS)
    assert_same_metrics(store, imported)
    assert damage_of(store) is None
    again = run_cli(*arguments, store=store.url)
    assert again.returncode == 0 and "0 runs imported" in again.stdout and again.stdout.count("already there") == 7


def test_a_batch_fills_a_store_of_several_hosts(request, answers, imported, tmp_path):
    in_slices(answers, tmp_path / "answers")
    store = new_store(answers, new_address(request, "postgres and s3", tmp_path))
    done = run_cli("batch", tmp_path / "answers", "--dataset", "relay", "--workers", "2", store=store.url)
    assert done.returncode == 0 and "7 runs imported" in done.stdout, done.stderr
    assert store.snapshot().rows(RUNS) == imported.snapshot().rows(RUNS)
    assert_same_metrics(store, imported)
    assert damage_of(store) is None


def assert_same_metrics(store, imported):
    """Compare every metric to 1e-12: runs lie in the order in which workers finished, so sums can differ in the last digit."""
    values, expected = metric_values_by_run(store), metric_values_by_run(imported)
    assert values.keys() == expected.keys()
    for key, value in values.items():
        if isinstance(value, dict):
            numbers = {run: float(text) for run, text in expected[key].items()}
            assert {run: float(text) for run, text in value.items()} == pytest.approx(numbers, rel=1e-12, nan_ok=True), key
        else:
            assert value == expected[key], key


def metric_values_by_run(store):
    """Return every metric of every run and every difficulty, as texts to the last digit, independent of the order of import."""
    runs = [run for (run,) in store.snapshot().rows("select run from runs where dataset = 'relay' order by position")]
    values = metric_values(store)
    return {
        key: dict(zip(runs, value, strict=True)) if key.startswith("relay") and "difficulties" not in key else value
        for key, value in values.items()
    }


def test_refused_runs_do_not_stop_the_others(answers, scheduler, tmp_path):
    whole = pl.read_parquet(answers / "all.parquet")
    bad = whole.with_columns(confidence=pl.when(pl.col("model") == "twin").then(7.0).otherwise("confidence"))
    bad.write_parquet(tmp_path / "bad.parquet")
    store = new_store(answers, tmp_path / "store")
    done = run_cli("batch", tmp_path / "bad.parquet", "--dataset", "relay", "--scheduler", scheduler, store=store.url)
    assert done.returncode == 1 and "1 of 7 groups of rows were refused" in done.stderr and "twin" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(store.snapshot().rows("select 1 from runs where dataset = 'relay'")) == 6
    whole.write_parquet(tmp_path / "bad.parquet")
    done = run_cli("batch", tmp_path / "bad.parquet", "--dataset", "relay", "--scheduler", scheduler, store=store.url)
    assert done.returncode == 0 and "1 run imported" in done.stdout


def test_without_a_scheduler_a_local_cluster_is_started(answers, tmp_path):
    rows = pl.read_parquet(answers / "all.parquet").filter(pl.col("model") == "sure").drop("model")
    rows.write_parquet(tmp_path / "sure.parquet")
    store = new_store(answers, tmp_path / "store")
    arguments = ("batch", tmp_path / "sure.parquet", "--model", "Sure", "--workers", "1")
    assert run_cli(*arguments, "--dataset", "nothing", store=store.url).returncode == 1
    done = run_cli(*arguments, "--dataset", "relay", store=store.url)
    assert done.returncode == 0, done.stderr
    (run,) = store.snapshot().rows("select run from runs where model = 'Sure'")[0]
    assert withdraw(store, run, None)


def test_a_batch_takes_repeats_and_shifted_ids(scheduler, tmp_path):
    store = open_store(tmp_path / "store", threads=1)
    questions = "id,gold,answer,confidence\n1,A,A,1\n2,B,A,0.5\n"
    (tmp_path / "base.csv").write_text(questions, encoding="utf-8")
    import_paths(store, [tmp_path / "base.csv"], ImportOptions(model="x"))
    answers = {
        "question_id": ["0", "1", "1"],
        "guess": ["A", "B", "A"],
        "confidence": [0.1, 0.2, 0.3],
        "correct": [1.0, 1.0, 0.0],
    }
    pl.DataFrame(answers).write_parquet(tmp_path / "answers.parquet")
    arguments = ["batch", tmp_path / "answers.parquet", "--dataset", "base", "--model", "y", "--scheduler", scheduler]
    for stated in ([], ["--repeats", "samples"], ["--align", "1"]):
        assert run_cli(*arguments, *stated, store=store.url).returncode == 1
    done = run_cli(*arguments, "--repeats", "samples", "--align", "1", store=store.url)
    assert done.returncode == 0 and "1 run imported" in done.stdout, done.stderr
    sql = "select question_id, confidence from responses join runs using (run) where model = 'y' order by 2"
    assert rows(store, sql) == [("1", 0.1), ("2", 0.2), ("2", 0.3)]
