"""Dry runs of an import: they show what the import would store, and the store stays unchanged."""

import tempfile
from pathlib import Path

import pytest

from clueline.data.importing import ingest
from clueline.data.importing.ingest import open_dry_run
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import StoreError
from tests.helpers import bundle_factory as bundles
from tests.helpers.run_tables import with_runs

OTHER = bundles.RESPONSES.replace("0.25", "0.9").replace("Nile", "Danube")
OPTIONS = ImportOptions(dataset="toy", model="new")
TABLES = ("datasets", "questions", "clues", "exposures", "buzzes", "votes", "curves", "runs", "responses", "statistics")


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(OTHER)
    return path


def rows(snapshot, dataset="toy"):
    """Return the rows of a dataset, without the times of import."""
    columns, stored = {"runs": "* exclude (imported_at)"}, with_runs(snapshot)
    return {
        name: sorted(stored.rows(f"select {columns.get(name, '*')} from {name} where dataset = '{dataset}'"), key=repr)
        for name in TABLES
    }


def write_many_versions(store, run):
    """Import a run, and write more versions than are retained."""
    bundles.put(store, run, dataset="toy", model="other")
    for _ in range(4):
        store.write(lambda connection: None)


def files(folder):
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(folder).rglob("*"))}


def test_a_dry_run_shows_the_import_and_stores_nothing(store, tmp_path, run):
    """This includes difficulty, which depends on the runs where there are no people. What is stored already is shown once."""
    for dataset, people in (("toy", {}), ("else", bundles.PEOPLE)):
        facts = bundles.FACTS | {"dataset": dataset}
        bundles.put(store, bundles.write(tmp_path / dataset, facts, responses=bundles.RESPONSES, **people), model="old")
    for dataset, other in (("toy", "else"), ("else", "toy")):
        options = ImportOptions(dataset=dataset, model="new")
        before, version = files(store.files.root), store.version()
        with open_dry_run(store, [run], options) as tried:
            assert (tried.dataset, tried.stored, tried.snapshot.version) == (dataset, frozenset(), version)
            seen = rows(tried.snapshot, dataset)
            assert not any(rows(tried.snapshot, other).values())
        assert files(store.files.root) == before and store.version() == version
        assert seen != rows(store.snapshot(), dataset)
        report = bundles.put(store, run, dataset=dataset, model="new")
        assert seen == rows(store.snapshot(), dataset)
        assert tried.report == report
    with open_dry_run(store, [run], options) as tried:
        assert tried.stored == frozenset(tried.report.runs) and len(tried.stored) == 1
        assert rows(tried.snapshot, dataset) == seen


def test_a_dry_run_keeps_its_version_while_others_write(toy, run):
    with open_dry_run(toy, [run], OPTIONS) as tried:
        seen = rows(tried.snapshot)
        write_many_versions(toy, run)
        assert rows(tried.snapshot) == seen


def test_a_dry_run_starts_again_when_its_version_is_gone(toy, run, monkeypatch):
    staging, tries = ingest.open_staging, []

    def overtaken(store, largest, hidden):
        tries.append(store.version())
        if len(tries) == 1:
            write_many_versions(store, run)
            raise OSError("the version is gone")
        return staging(store, largest, hidden)

    monkeypatch.setattr(ingest, "open_staging", overtaken)
    with open_dry_run(toy, [run], OPTIONS) as tried:
        assert tried.snapshot.version == toy.version() != tries[0]
        assert len(rows(tried.snapshot)["runs"]) == 2


def test_a_disk_that_cannot_be_written_raises_an_error(toy, tmp_path, run, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match="cannot work with its files"), open_dry_run(toy, [run], OPTIONS):
        pass


def refusal(store, paths, options=OPTIONS):
    with pytest.raises(Refused) as refused, open_dry_run(store, paths, options):
        pass
    return [str(problem) for problem in refused.value.problems]


def test_a_refused_dry_run_says_the_same_and_leaves_nothing(toy, tmp_path, run, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with open_dry_run(toy, [run], OPTIONS):
        assert list(scratch.iterdir())
    assert not list(scratch.iterdir())
    run.write_text("question_id,clue,confidence\nq1,0,0.5\nq9,0,0.5\nq2,7,x\n")
    problems = bundles.refusal(toy, run, dataset="toy", model="new").problems
    assert refusal(toy, [run]) == list(map(str, problems)) and len(problems) == 3
    assert not list(scratch.iterdir())


def test_only_answers_are_accepted(store, tmp_path, run):
    bundles.put(store, bundles.write(tmp_path / "bare"))
    bundle = bundles.write(tmp_path / "toy", responses=bundles.RESPONSES)
    other = bundles.write(tmp_path / "other", facts=bundles.FACTS | {"dataset": "other"}, responses=bundles.RESPONSES)
    assert "brings datasets for dataset 'other'" in refusal(store, [other], ImportOptions(model="new"))[0]
    people = bundles.write(tmp_path / "people", responses=bundles.RESPONSES, **bundles.PEOPLE)
    assert "brings exposures for dataset 'toy'" in refusal(store, [people])[0]
    assert "no answers" in refusal(store, [tmp_path / "bare"])[0]
    bundles.put(store, other, model="old")
    assert "several datasets (other, toy)" in refusal(store, [bundle, other], ImportOptions(model="new"))[0]
    # A bundle whose questions are already stored is treated like its answers alone.
    with open_dry_run(store, [bundle], ImportOptions(model="new")) as tried:
        assert len(tried.report.runs) == 1


def test_an_empty_store_is_refused(store, run):
    (table := run.with_name("table.csv")).write_text("question,gold,prediction,confidence\nWhich?,A,A,1\nWho?,B,A,0.5\n")
    with open_dry_run(store, [table], ImportOptions(), content="all") as tried:
        assert tried.report.datasets == ["table"] and len(rows(tried.snapshot, "table")["responses"]) == 2
    assert store.version() == "0"
    for file, options, reason in ((run, OPTIONS, "there is no dataset"), (table, ImportOptions(), "not only answers")):
        with pytest.raises(Refused, match=reason), open_dry_run(store, [file], options):
            pass
    assert not store.files.root.exists()
