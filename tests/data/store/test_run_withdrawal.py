"""Withdrawing marks a run and restoring removes the mark; nothing is erased."""

import pytest

from clueline.data.store.run_withdrawal import CannotRestore, NoSuchRun, restore, withdraw
from tests.helpers import bundle_factory as bundles


def one_run(store, folder):
    bundles.put(store, bundles.write(folder / "toy", responses=bundles.RESPONSES), model="m")


@pytest.fixture
def run(prefilled):
    ((run,),) = prefilled(one_run).snapshot().rows("select run from runs")
    return run


def difficulty(store):
    return store.snapshot().rows("select question_id, difficulty from questions order by 1")


def test_a_withdrawn_run_is_restored_whole(store, run):
    before = bundles.content(store)
    assert withdraw(store, run, "ann") and not withdraw(store, run, "bob")
    at, by = store.snapshot().rows("select withdrawn_at, withdrawn_by from runs")[0]
    assert at is not None and by == "ann"
    changed = ("runs", "questions", "accuracies")
    assert {name: rows for name, rows in bundles.content(store).items() if name not in changed} == {
        name: rows for name, rows in before.items() if name not in changed
    }
    assert restore(store, run) and not restore(store, run)
    assert bundles.content(store) == before


def test_difficulty_follows_the_runs_that_count(store, run, tmp_path):
    """By hand: the first run is right at 2 of 3 and 1 of 2 clues; the second at 0 of 3 and 0 of 2."""
    path = tmp_path / "wrong.csv"
    path.write_text(
        "question_id,clue,guess,confidence\n" + "".join(f"{q},{c},x,0.5\n" for q, n in (("q1", 3), ("q2", 2)) for c in range(n))
    )
    (other,) = bundles.put(store, path, dataset="toy", model="wrong").runs
    assert difficulty(store) == [("q1", pytest.approx(2 / 3)), ("q2", pytest.approx(3 / 4))]
    withdraw(store, other, None)
    assert difficulty(store) == [("q1", pytest.approx(1 / 3)), ("q2", pytest.approx(1 / 2))]


def test_an_unknown_run_is_refused(store, run):
    version = store.version()
    for change in (lambda name: withdraw(store, name, None), lambda name: restore(store, name)):
        with pytest.raises(NoSuchRun):
            change("x'; drop table runs; --")
    assert store.version() == version


def test_a_run_whose_questions_are_gone_stays_withdrawn(store, run, tmp_path):
    only = "\n".join(bundles.QUESTIONS.splitlines()[:2]) + "\n"
    clues = "\n".join(bundles.CLUES.splitlines()[:4]) + "\n"
    bundles.put(store, bundles.write(tmp_path / "toy", questions=only, clues=clues), replace=True)
    with pytest.raises(CannotRestore, match="answers some that are gone"):
        restore(store, run)
    assert store.snapshot().rows("select withdrawn_at is null from runs") == [(False,)]
