"""Rows that repeat a question: refused, or samples, or further gradings."""

import pytest

from clueline.data.importing.report import Refused
from tests.helpers.bundle_factory import put_file, rows

HEADER = "id,rater,question,gold,answer,confidence,correct\n"
ROWS = (
    "q1,ann,Which river?,Nile,Nile,0.9,1\nq1,bob,Which river?,Nile,Nile,0.9,0\nq2,bob,Which city?,Rome,Paris,0.4,1\n"
    "q2,ann,Which city?,Rome,Paris,0.4,0\nq3,ann,Which sea?,Dead,Dead,0.5,1\n"
)
OWN = "question_id,guess,confidence,correct\nq1,Nile,0.9,1\nq1,Nile,0.9,0\nq2,Rome,0.4,0\n"
ANSWERS = "select question_id, sample, correct, attributes from responses order by 1, 2"


def grades(store, grading):
    """Return question and grade of the answers of the only run under a grading."""
    snapshot = store.snapshot()
    ((run,),) = snapshot.rows("select run from runs where model = 'm'")
    chosen = snapshot.with_grading(grading)
    return chosen.rows(f"select question_id, correct from {chosen.responses([run])} order by 1")


def test_rows_that_repeat_a_question_are_refused(store, tmp_path):
    with pytest.raises(Refused) as refused:
        put_file(store, tmp_path / "table.csv", HEADER + ROWS, model="m")
    (problem,) = refused.value.problems
    assert problem.hint == "repeats" and problem.reason.startswith("2 rows answer a question of id again: which column")
    assert "sample=rater" in problem.choices


def test_repeated_rows_are_samples_if_so_stated(store, tmp_path):
    put_file(store, tmp_path / "table.csv", HEADER + ROWS, model="m", repeats="samples")
    assert rows(store, ANSWERS) == [
        ("q1", "1", 1.0, {"rater": "ann"}), ("q1", "2", 0.0, {"rater": "bob"}), ("q2", "1", 1.0, {"rater": "bob"}),
        ("q2", "2", 0.0, {"rater": "ann"}), ("q3", "1", 1.0, {"rater": "ann"}),
    ]  # fmt: skip


def test_repeated_rows_are_gradings_by_the_name_of_who_graded(store, tmp_path):
    report = put_file(store, tmp_path / "table.csv", HEADER + ROWS, model="m", repeats="gradings")
    assert rows(store, ANSWERS) == [("q1", None, 1.0, None), ("q2", None, 0.0, None), ("q3", None, 1.0, None)]
    assert grades(store, "bob") == [("q1", 0.0), ("q2", 1.0), ("q3", 1.0)]
    assert "of several grades of an answer, the first by rater counts; the others are gradings: bob" in report.lines


def test_gradings_without_a_name_are_numbered(store, tmp_path):
    put_file(
        store, tmp_path / "base.csv", "id,question,gold,answer,confidence\nq1,River?,Nile,A,1\nq2,City?,Rome,B,1\n", model="x"
    )
    with pytest.raises(Refused, match="this run has an answer to this question and clue already") as refused:
        put_file(store, tmp_path / "own.csv", OWN, dataset="base", model="m")
    assert [problem.hint for problem in refused.value.problems] == ["repeats"]
    put_file(store, tmp_path / "own.csv", OWN, dataset="base", model="m", repeats="gradings")
    assert grades(store, "imported") == [("q1", 1.0), ("q2", 0.0)] and grades(store, "grade-2") == [("q1", 0.0), ("q2", 0.0)]


def test_other_answers_are_no_further_gradings(store, tmp_path):
    with pytest.raises(Refused, match="another answer to the question than an earlier one") as refused:
        put_file(store, tmp_path / "table.csv", HEADER + ROWS.replace("Nile,0.9,0", "Po,0.9,0"), model="m", repeats="gradings")
    assert [(problem.row, problem.column, problem.value) for problem in refused.value.problems] == [
        ("line 3", "question_id", "q1")
    ]
