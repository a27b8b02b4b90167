"""What a pinned data version reports after each kind of change."""

import re
import shutil

import pytest

from clueline.dashboard.http.messages import what_changed
from clueline.data.store import open_store
from clueline.data.store.gradings import Correction, correct_grades
from clueline.data.store.run_withdrawal import restore, withdraw
from clueline.queries.changes import pinned_version, version_changes
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.bundle_factory import PEOPLE, RESPONSES, put, put_file, write

ALL = Selection("toy")
NEW = "question_id,clue,guess,confidence\nq1,0,Rome,0.5\nq1,1,Paris,0.5\nq1,2,Paris,0.5\nq2,0,Nile,0.5\nq2,1,Nile,0.5\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Folder of a store with one run on a dataset whose difficulty comes from people."""
    folder = tmp_path_factory.mktemp("pinned")
    put(open_store(folder / "store", threads=1), write(folder / "toy", responses=RESPONSES, **PEOPLE), model="alpha")
    return folder


@pytest.fixture
def store(original, tmp_path):
    shutil.copytree(original / "store", tmp_path / "store")
    return open_store(tmp_path / "store", threads=1)


def version_of(store):
    return pinned_version(store.snapshot(), ALL)


def named(store):
    """Return a selection that names the currently published runs, as a permanent link does."""
    return ALL.replace(run=tuple(run for (run,) in store.snapshot().rows("select run from runs where withdrawn_at is null")))


def changes(store, selection, version):
    return version_changes(store.snapshot(), selection, version)


def publish(store, tmp_path):
    return put_file(store, tmp_path / "new.csv", NEW, dataset="toy", model="beta").runs[0]


def test_runs_change_links_that_name_none(store, tmp_path):
    version, before = version_of(store), named(store)
    for selection in (ALL, before, ALL.replace(category=("Places",), failed=True)):
        result = changes(store, selection, version)
        assert result.same and result.current == version
        assert not (result.content or result.added or result.withdrawn or result.restored or result.corrected or result.unnamed)
    run = publish(store, tmp_path)
    result = changes(store, ALL, version)
    assert not result.same and not result.content
    assert [(added.run, added.model) for added in result.added] == [(run, "beta")]
    result = changes(store, before, version)
    assert result.same and result.unnamed == 1 and result.added == []
    version = version_of(store)
    withdraw(store, before.run[0], None)
    result = changes(store, ALL, version)
    assert not result.same and [gone.run for gone in result.withdrawn] == [before.run[0]]
    assert changes(store, before, version).same, "a link that names the run still shows it"
    later = version_of(store)
    assert later != version
    restore(store, before.run[0])
    assert changes(store, ALL, later).restored and not changes(store, ALL, later).same


def test_other_people_change_every_link(store, original, tmp_path):
    version, before = version_of(store), named(store)
    buzzes = PEOPLE["buzzes"].replace("q1,m1,Birch,7,true", "q1,m1,Birch,3,true")
    put(store, write(tmp_path / "toy", exposures=PEOPLE["exposures"], buzzes=buzzes), replace=True)
    for selection in (ALL, before):
        result = changes(store, selection, version)
        assert result.content and not result.same
    put(store, original / "toy", replace=True, model="alpha")
    assert version_of(store).split("-")[1] == version.split("-")[1], "the same people as before"


def test_corrected_grades_change_links_that_read_them(store):
    """A version from before a rule changed says so, too."""

    def rules(selection=None):
        result = changes(store, selection or named(store), version_of(store).rpartition("-")[0])
        assert not result.same and not result.corrected
        assert what_changed(result) == f"Since this link was made, these rules changed: {'; '.join(result.rules_changed)}."
        return {rule.split()[0] for rule in result.rules_changed}

    version, (run,) = version_of(store), named(store).run
    assert rules() == {"intervals"}, "other rules do not concern this store"
    correct_grades(store, run, [Correction("q1", "Rome", 1.0)], by="ann")
    assert changes(store, named(store).replace(grading="graded"), version).same
    for grading in ("", "reviewed"):
        result = changes(store, named(store).replace(grading=grading), version)
        assert result.corrected == [run] and not result.same and not result.rules_changed
    assert changes(store, named(store), version_of(store)).same
    assert rules() == {"runs", "intervals"}
    assert rules(named(store).replace(grading="graded")) == {"intervals"}


def test_rules_are_named_where_they_concern_a_dataset(tmp_path):
    store = open_store(tmp_path / "store", threads=1)
    part = "question_id,clue,guess,confidence,state,model\nq1,0,Rome,0.5,,beta\nq1,1,,,abstained,beta\n"
    toy = write(tmp_path / "toy", responses=RESPONSES, **{"responses/part": part})  # without people, difficulty comes from runs
    forecast = "question_id,guess,confidence,correct\nd1,yes,0.3,0\n"
    facts = {"dataset": "rain", "kind": "forecast"}
    put(store, toy, write(tmp_path / "rain", facts, questions="question_id\nd1\n", clues=None, responses=forecast), model="alpha")

    def rules(selection):
        snapshot = store.snapshot()
        version = pinned_version(snapshot, selection)
        assert not version_changes(snapshot, selection, version).rules_changed
        changed = version_changes(snapshot, selection, version.rpartition("-")[0]).rules_changed
        return [rule.split()[0] for rule in changed]

    assert rules(ALL) == ["answers", "runs", "where", "intervals"]
    assert rules(ALL.replace(common=False)) == ["answers", "where", "intervals"]
    assert rules(ALL.replace(model=("alpha",))) == ["where", "intervals"]
    assert rules(Selection("rain")) == ["where", "accuracy", "intervals"]
    version, before = version_of(store), named(store)
    publish(store, tmp_path)
    assert changes(store, before, version).content, "difficulty that comes from runs is content"


@pytest.mark.parametrize("version", ["", "12-0badc0de", "20261399T000000000000-0123456789ab-01234567", "x" * 400])
def test_an_invalid_version_is_refused(store, version):
    with pytest.raises(BadRequest) as refusal:
        changes(store, ALL, version)
    assert refusal.value.field == "version"


def test_a_link_to_lifeeval_says_that_ages_became_clusters(bundled):
    """Unless it names the cluster itself."""
    selection = Selection(
        "lifeeval", run=tuple(run for (run,) in bundled.rows("select run from runs where dataset = 'lifeeval'"))
    )
    earlier = re.sub(r"r\d+$", "r1", pinned_version(bundled, selection))
    changes = version_changes(bundled, selection, earlier)
    assert not changes.same and "cluster=question counts single questions as before" in changes.rules_changed[0]
    of_questions = version_changes(bundled, selection.replace(cluster="question"), earlier)
    assert "age" not in " ".join(of_questions.rules_changed).split()
    assert version_changes(bundled, selection, pinned_version(bundled, selection)).same
