"""Concurrent imports: those that do not touch the same rows go on, the others start again."""

from functools import partial

import pytest

from clueline.data.importing.ingest import import_paths, read_and_check
from clueline.data.importing.staging import ImportOptions, open_staging
from clueline.data.importing.unpublished_catalogue import make_unpublished_catalogue
from clueline.data.store import StoreMoved
from clueline.data.store.run_files import SWEPT
from clueline.data.store.run_withdrawal import withdraw
from tests.helpers.bundle_factory import FACTS, PEOPLE, RESPONSES, put, write

RUN = "question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq1,1,Paris,0.75\nq2,1,Nile,1\n"


def one_run(store, folder):
    put(store, write(folder / "toy", responses=RESPONSES), model="first")
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text(RUN)


@pytest.fixture
def toy(prefilled):
    return prefilled(one_run)


def between(store, path, options, meanwhile):
    """Import a file, and call ``meanwhile`` once after it is read and before it is published."""
    with open_staging(store) as staging:
        read_and_check(staging, [path], options, None, lambda *step: None)
        unpublished = make_unpublished_catalogue(staging, store.new_objects())
        unpublished.close()
        meanwhile()
        store.write(unpublished.publish)


def test_runs_of_one_dataset_do_not_disturb_each_other(toy, tmp_path):
    first, second = (ImportOptions(dataset="toy", model=name) for name in ("one", "two"))
    between(toy, tmp_path / "a.csv", first, lambda: import_paths(toy, [tmp_path / "b.csv"], second))
    snapshot = toy.snapshot()
    assert snapshot.rows("select model, position from runs order by position") == [("first", 0), ("two", 1), ("one", 2)]
    # By hand: the first run is right at 2 of 3 and 1 of 2 clues; each of the others at 1 of 2 and 1 of 1.
    shares = snapshot.rows("select question_id, 1 - difficulty from questions order by 1")
    assert shares == [("q1", pytest.approx((2 / 3 + 1 / 2 + 1 / 2) / 3)), ("q2", pytest.approx((1 / 2 + 1 + 1) / 3))]


def test_a_withdrawal_during_an_import_counts(toy, tmp_path):
    """The difficulty comes from the runs that remain, as if the withdrawal had come first."""
    run = toy.snapshot().rows("select run from runs")[0][0]
    between(toy, tmp_path / "a.csv", ImportOptions(dataset="toy", model="one"), lambda: withdraw(toy, run, None))
    shares = toy.snapshot().rows("select question_id, 1 - difficulty from questions order by 1")
    assert shares == [("q1", 0.5), ("q2", 1.0)]


def test_concurrent_imports_of_other_datasets_do_not_conflict(toy, tmp_path):
    other = write(tmp_path / "other", facts=FACTS | {"dataset": "other"}, responses=RESPONSES)
    third = write(tmp_path / "third", facts=FACTS | {"dataset": "third"}, responses=RESPONSES)
    between(toy, other, ImportOptions(model="o"), lambda: put(toy, third, model="t"))
    rows = toy.snapshot().rows("select dataset, position from datasets order by 2")
    assert rows == [("toy", 0), ("third", 1), ("other", 2)]
    assert toy.snapshot().rows("select position from runs order by 1") == [(0,), (1,), (2,)]


@pytest.mark.parametrize("change", ["the same run", "people", "replaced questions", "the same dataset"])
def test_a_conflicting_change_during_an_import_is_noticed(toy, tmp_path, change):
    people = write(tmp_path / "people", **PEOPLE)
    other = write(tmp_path / "other", facts=FACTS | {"dataset": "other"})
    run = (tmp_path / "a.csv", ImportOptions(dataset="toy", model="m"))
    put_run = partial(put, toy, tmp_path / "b.csv", dataset="toy", model="m")
    path, options, meanwhile = {
        "the same run": (*run, put_run), "people": (*run, partial(put, toy, people, replace=True)),
        "replaced questions": (people, ImportOptions(replace=True), put_run),
        "the same dataset": (other, ImportOptions(), partial(put, toy, other)),
    }[change]  # fmt: skip
    with pytest.raises(StoreMoved):
        between(toy, path, options, meanwhile)


def test_an_import_that_starts_again_reports_a_stored_run(toy, tmp_path, monkeypatch):
    """Two people import the same run at once: the second is told that it is already there."""
    from clueline.data.importing import ingest

    write_once, calls = ingest.make_unpublished_catalogue, []

    def overtaken(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            monkeypatch.setattr(ingest, "make_unpublished_catalogue", write_once)
            put(toy, tmp_path / "b.csv", dataset="toy", model="m")
        return write_once(*args, **options)

    monkeypatch.setattr(ingest, "make_unpublished_catalogue", overtaken)
    report = put(toy, tmp_path / "a.csv", dataset="toy", model="m")
    assert report.stored == report.runs and "already there" in report.lines[-1]
    assert len(report.lines) == 2, "only the second try is reported"


def test_a_clock_that_jumps_ahead_costs_no_run(toy, tmp_path):
    """Writers who think that an hour has passed sweep what an import has written. It starts again."""
    options = ImportOptions(dataset="toy", model="one")

    def two_writes_an_hour_apart():
        for _ in range(2):
            noted = toy.files.read_small(SWEPT)
            toy.files.write_small(SWEPT, b"\n".join([b"1", *(noted.content if noted else b"1").splitlines()[1:]]))
            toy.write(lambda connection: None)

    with pytest.raises(StoreMoved):
        between(toy, tmp_path / "a.csv", options, two_writes_an_hour_apart)
    (run,) = import_paths(toy, [tmp_path / "a.csv"], options).runs
    assert toy.snapshot().rows(f"select count(*) from {toy.snapshot().responses([run])}") == [(3,)]
