"""Further gradings of runs, and corrections by reviewers: what is stored, and what is read for each grading."""

import numpy as np
import pytest

from clueline.data.store import open_store
from clueline.data.store.backup import back_up
from clueline.data.store.gradings import CannotAdopt, Correction, NoSuchGuess, adopt_grading, correct_grades
from clueline.data.store.repair import inspect_version, repair_objects
from clueline.data.store.run_files import all_objects
from clueline.data.store.run_withdrawal import NoSuchRun
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import grades, put, rows, write

# The file and the rules disagree about "Rome" and about "paris"; a second reader also disagrees about "Nile".
STATED = """question_id,clue,guess,confidence,correct,correct.second-reader
q1,0,Rome,0.25,1,1
q1,1,Paris,0.5,1,1
q1,2,paris,1,0,
q2,0,,0,0,0
q2,1,Nile,0.75,1,0
"""
GRADES = {
    "": [1, 1, 0, 0, 1],
    "imported": [1, 1, 0, 0, 1],
    "graded": [0, 1, 1, 0, 1],
    "second-reader": [1, 1, 0, 0, 0],
    "reviewed": [1, 1, 0, 0, 1],
    "unheard-of": [1, 1, 0, 0, 1],
}


def stated(store, folder):
    put(store, write(folder / "toy", responses=STATED), model="alpha")
    put(store, write(folder / "other", responses=bundles.RESPONSES, facts=bundles.FACTS | {"dataset": "other"}), model="beta")


@pytest.fixture
def toy(prefilled):
    return prefilled(stated)


@pytest.fixture
def run(toy):
    return rows(toy, "select run from runs where model = 'alpha'")[0][0]


def check_statistics(store, run, grading):
    """Check that the sums of items, grades and graded confidences in the statistics agree with the responses of a grading."""
    snapshot = store.snapshot().with_grading(grading)
    names = ["items", "correct", "confidence_correct"]
    sums = snapshot.read_runs("statistics", [run], names)[run].sum().row(0)
    items = f"select count(*), sum(correct), sum(correct * confidence) from {snapshot.responses([run])} where not failed"
    assert np.allclose(sums, snapshot.rows(items)[0])


def test_a_grading_is_read_in_place_of_the_first(toy, run):
    for grading, expected in GRADES.items():
        assert grades(toy, run, grading) == expected, grading
        check_statistics(toy, run, grading)
    names = rows(toy, f"select name, position, source from gradings where run = '{run}' order by position")
    assert names == [("imported", 0, "import"), ("second-reader", 1, "column"), ("graded", 2, "rules")]
    assert rows(toy, "select name from gradings where dataset = 'other'") == [("graded",)]


def test_a_correction_makes_a_reviewed_grading(toy, run):
    correct_grades(toy, run, [Correction("q1", "Rome", 0.0, note="the question is wrong")], "ann")
    assert grades(toy, run, "reviewed") == [0, 1, 0, 0, 1]  # the first grading and the correction, not the rules
    assert grades(toy, run, "") == GRADES[""] and grades(toy, run, "graded") == GRADES["graded"]
    check_statistics(toy, run, "reviewed")
    log = rows(toy, "select number, question_id, guess, correct, corrected_by, note from corrections")
    assert log == [(1, "q1", "Rome", 0.0, "ann", "the question is wrong")]


def test_the_last_correction_counts_and_all_are_kept(toy, run):
    correct_grades(toy, run, [Correction("q1", "Rome", 1.0), Correction("q1", "Rome", 0.5, clue=0)], "ann")
    assert grades(toy, run, "reviewed")[0] == 0.5
    correct_grades(toy, run, [Correction("q1", "Rome", None)], "bob")
    assert grades(toy, run, "reviewed") == GRADES["imported"]
    assert rows(toy, "select number, correct, corrected_by from corrections order by number") == [
        (1, 1.0, "ann"), (2, 0.5, "ann"), (3, None, "bob"),
    ]  # fmt: skip


def test_a_correction_touches_no_other_run(toy, run, tmp_path):
    put(toy, write(tmp_path / "more", responses=bundles.RESPONSES), model="gamma")
    before = {(part.kind, part.run): part.name for part in all_objects(toy.snapshot().connection)}
    correct_grades(toy, run, [Correction("q2", "Nile", 0.0)], None)
    after = {(part.kind, part.run): part.name for part in all_objects(toy.snapshot().connection)}
    assert {key for key in after if before.get(key) != after[key]} == {("grades.reviewed", run), ("statistics.reviewed", run)}
    assert before.items() <= after.items()


def test_runs_with_and_without_a_grading_keep_their_order(toy, run, tmp_path):
    put(toy, write(tmp_path / "more", responses=bundles.RESPONSES), model="gamma")
    put(toy, write(tmp_path / "more", responses=STATED), model="delta")
    order = [name for (name,) in rows(toy, "select run from runs where dataset = 'toy' order by model")]
    snapshot = toy.snapshot().with_grading("graded")
    tables = snapshot.read_runs("responses", order, ["correct"])
    assert [tables[name]["correct"].to_list() for name in order] == [
        GRADES["graded"], GRADES["graded"], [0, 1, 1, 0, 1],
    ]  # fmt: skip
    assert snapshot.rows(f"select distinct on (run) run from {snapshot.responses(order)}") == [(name,) for name in order]


def test_damaged_grades_leave_the_run_and_the_log(toy, run):
    correct_grades(toy, run, [Correction("q1", "paris", 1.0)], "ann")
    for kind in ("grades.reviewed", "grades.second-reader"):
        (part,) = [part for part in all_objects(toy.snapshot().connection) if part.kind == kind]
        toy.objects.path(part.name).write_bytes(b"")
    damaged = inspect_version(toy, toy.pointer().name).damaged_objects
    assert repair_objects(toy, damaged) == []
    assert grades(toy, run, "reviewed") == [1, 1, 1, 0, 1]
    assert rows(toy, f"select name from gradings where run = '{run}' order by position") == [
        ("imported",), ("graded",), ("reviewed",),
    ]  # fmt: skip
    check_statistics(toy, run, "reviewed")


def test_only_guesses_of_a_run_can_be_corrected(toy, run):
    version = toy.version()
    for correction in (Correction("q1", "Oslo", 1.0), Correction("q9", "Rome", 1.0), Correction("q1", "Rome", 1.0, clue=1)):
        with pytest.raises(NoSuchGuess, match="the run did not answer"):
            correct_grades(toy, run, [Correction("q1", "Rome", 1.0), correction], None)
    with pytest.raises(NoSuchRun):
        correct_grades(toy, "0" * 16, [Correction("q1", "Rome", 1.0)], None)
    assert toy.version() == version and not rows(toy, "select * from corrections")


def test_corrections_survive_replaced_questions(toy, run, tmp_path):
    correct_grades(toy, run, [Correction("q1", "paris", 1.0)], "ann")
    questions = bundles.QUESTIONS.replace("Nile", "Niger")
    put(toy, write(tmp_path / "new", questions=questions, **bundles.PEOPLE), replace=True)
    assert grades(toy, run, "graded") == [0, 1, 1, 0, 0]
    assert grades(toy, run, "reviewed") == [1, 1, 1, 0, 1]
    assert grades(toy, run, "second-reader") == GRADES["second-reader"]
    for grading in ("graded", "reviewed", "second-reader"):
        check_statistics(toy, run, grading)


def test_a_backup_has_the_gradings(toy, run, tmp_path):
    correct_grades(toy, run, [Correction("q1", "Rome", 1.0)], "ann")
    back_up(toy, tmp_path / "backup")
    copy = open_store(tmp_path / "backup", threads=1)
    for grading in GRADES:
        assert grades(copy, run, grading) == grades(toy, run, grading)
    assert bundles.content(copy) == bundles.content(toy)


def test_an_adopted_grading_is_in_force_and_has_a_way_back(toy):
    """A reviewer's own correction of another answer stays; the log says who adopted what, and what came before."""
    ((run,),) = rows(toy, "select run from runs where model = 'alpha'")
    correct_grades(toy, run, [Correction("q1", "Paris", 0.0, 1)], "eve")
    assert grades(toy, run, "reviewed") == [1, 0, 0, 0, 1]
    assert adopt_grading(toy, run, "second-reader", "ann") == 1
    assert grades(toy, run, "reviewed") == [1, 0, 0, 0, 0]
    assert adopt_grading(toy, run, "graded", "bob") == 2
    assert grades(toy, run, "reviewed") == [0, 0, 1, 0, 1]
    assert adopt_grading(toy, run, "imported", "ann") == 0
    assert grades(toy, run, "reviewed") == [1, 0, 0, 0, 1] and grades(toy, run, "") == GRADES[""]
    assert rows(toy, "select question_id, clue, guess, correct, corrected_by, note from corrections order by number") == [
        ("q1", 1, "Paris", 0.0, "eve", None),
        ("q2", 1, "Nile", 0.0, "ann", "grading adopted: second-reader"),
        ("q2", 1, "Nile", None, "bob", "grading adopted: graded, in place of an earlier one"),
        ("q1", 0, "Rome", 0.0, "bob", "grading adopted: graded"),
        ("q1", 2, "paris", 1.0, "bob", "grading adopted: graded"),
        ("q1", 0, "Rome", None, "ann", "grading adopted: imported, in place of an earlier one"),
        ("q1", 2, "paris", None, "ann", "grading adopted: imported, in place of an earlier one"),
    ]


@pytest.mark.parametrize("name", ["reviewed", "third-reader"])
def test_only_a_grading_of_the_run_is_adopted(toy, name):
    ((run,),) = rows(toy, "select run from runs where model = 'alpha'")
    with pytest.raises(CannotAdopt, match="it has: imported, "):
        adopt_grading(toy, run, name, None)
