"""LifeEval: graded by the life table, and its files as released."""

import json

import pytest

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows


def test_the_life_table_grades_lifeeval(store, folder):
    facts = {"dataset": "spans", "kind": "lifeeval"}
    questions = "question_id,sex,minimum_age,radius\na,male,30,1\nb,male,30,20\nc,female,65,5\nd,female,65,5\ne,male,30,5\n"
    responses = "question_id,guess,confidence\na,78,0.5\nb, 78.0 ,0.5\nc,86,0.5\nd,,0.5\ne,error,0.5\n"
    bundles.put(store, bundles.write(folder, facts, questions=questions, clues=None, responses=responses), model="m")
    grades = rows(store, "select correct, graded from responses order by question_id")
    assert [graded for _, graded in grades] == ["table"] * 4 + ["failed"]
    assert [correct for correct, _ in grades] == pytest.approx([0.053226, 0.860209, 0.409616, 0, 0], abs=1e-6)
    difficulty = [d for (d,) in rows(store, "select difficulty from questions order by question_id")]
    assert all(0 < d < 1 for d in difficulty) and difficulty[2] == difficulty[3]
    assert rows(store, "select distinct difficulty_source from questions") == [("given",)]


def test_one_file_of_lifeeval_as_released(store, tmp_path):
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "Question Prompt,Confidence Prompt,True Lifespan,Question ID\nHow old?,How sure?,74,0\nHow old?,How sure?,74,525\n"
    )
    answers = tmp_path / "answers.csv"
    answers.write_text("Answer,Confidence,Question ID\n76,0.25,525\nold,0.5,0\n")
    bundles.put(store, questions)
    report = bundles.put(store, answers, model="m")
    assert rows(store, "select question_id, sex, minimum_age, radius, text from questions order by position") == [
        ("0", "male", 0, 1, "How old? How sure?"), ("525", "female", 30, 5, "How old? How sure?"),
    ]  # fmt: skip
    assert rows(store, "select question_id, guess, confidence, failed from responses order by question_id desc") == [
        ("525", "76", 0.25, False), ("0", None, 0.0, True),
    ]  # fmt: skip
    assert rows(store, "select items, questions, missing_questions, failed from runs") == [(1, 1, 1, 1)]
    assert json.loads(rows(store, "select skipped from runs")[0][0]) == {"answer is not a number": 1}
    assert report.lines[-1].endswith(
        "1 items of 1 questions imported; 1 questions not answered; 1 failed call (1 row: answer is not a number)"
    )
