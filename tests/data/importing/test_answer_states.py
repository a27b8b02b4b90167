"""States of an answer in files: how they are read, exported, graded, corrected, and kept from earlier schemas."""

import pytest

from data.store import open_store
from data.store.errors import NeedsMigration
from data.store.gradings import Correction, NoSuchGuess, correct_grades
from data.store.migrations import m0013_answer_states
from data.store.query_to_file import export
from queries.runs import responses, unanswered_questions
from tests.helpers import bundle_factory
from tests.helpers.bundle_factory import put, put_answers, rows, write

# Guesses that the rules would grade as right stand in rows that are never right.
STATES = """question_id,clue,guess,confidence,state
q1,0,Rome,0.25,
q1,1,Paris,,
q1,2,Paris,,unparsed
q2,0,Nile,,abstained
q2,1,Nile,0.75,answered
"""
COLUMNS = "question_id, clue, guess, confidence, correct, state, graded"
STORED = [
    ("q1", 0, "Rome", 0.25, 0.0, None, "answer"),
    ("q1", 1, "Paris", None, 1.0, "no_confidence", "answer"),
    ("q1", 2, "Paris", None, 0.0, "unparsed", "unparsed"),
    ("q2", 0, "Nile", None, 0.0, "abstained", "abstained"),
    ("q2", 1, "Nile", 0.75, 1.0, None, "answer"),
]
ALL = f"select {COLUMNS} from responses order by question_id, clue"


def test_a_column_says_the_state(toy, tmp_path):
    (run,) = put_answers(toy, tmp_path, STATES).runs
    assert rows(toy, ALL) == STORED
    for ending in ("jsonl", "parquet"):
        assert put_answers(toy, tmp_path, bundle_factory.in_format(STATES, ending), f"run.{ending}").stored == [run]
    assert rows(toy, "select question_id, items, correct from statistics order by 1") == [("q1", 1, 0), ("q2", 1, 1)]


def test_a_guess_without_a_confidence_is_kept(toy, tmp_path):
    put_answers(toy, tmp_path, "question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq1,1,Paris,\nq1,2,Paris,nan\nq2,1,Nile,NaN\n")
    unsure = (None, 1.0, "no_confidence", "answer")
    assert rows(toy, ALL) == [*STORED[:2], ("q1", 2, "Paris", *unsure), ("q2", 1, "Nile", *unsure)]


def test_the_state_of_failed_calls(toy, tmp_path):
    (run,) = put_answers(toy, tmp_path, "question_id,clue,guess,confidence,state\nq1,0,Rome,0.5,\nq1,1,,,failed\n").runs
    marked = "question_id,clue,guess,confidence,failed\nq1,0,Rome,0.5,\nq1,1,,,true\n"
    assert put_answers(toy, tmp_path, marked, "marked.csv").stored == [run], "the same run, marked another way"


def test_what_a_state_rules_out_is_left_out(toy, tmp_path):
    head = "question_id,clue,guess,confidence,correct,state\n"
    report = put_answers(toy, tmp_path, f"{head}q1,0,Rome,0.5,0,\nq1,1,Paris,0.9,1,abstained\nq1,2,Paris,0.9,1,no_confidence\n")
    assert [row[3:6] for row in rows(toy, ALL)] == [(0.5, 0, None), (None, 0, "abstained"), (None, 1, "no_confidence")]
    assert report.warnings == [
        "2 rows whose `state` rules out a confidence or a correct answer have one; these values were left out"
    ]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_exported_states_can_be_imported_again(toy, tmp_path, form):
    (run,) = put_answers(toy, tmp_path, STATES.replace("q2,1,Nile,0.75,answered", "q2,1,,,failed")).runs
    with export(toy, responses(toy.snapshot(), run, form), form) as file:
        text = file.read()
    other = open_store(tmp_path / "other", threads=1)
    put(other, write(tmp_path / "toy"))
    assert put_answers(other, tmp_path, text, f"out.{form}", model=None).runs == [run]
    for table in ("responses", "statistics"):
        assert rows(other, f"from {table} order by all") == rows(toy, f"from {table} order by all")
    assert rows(other, ALL) == [*STORED[:4], ("q2", 1, None, 0.0, 0.0, None, "failed")]


def test_other_states_are_other_runs(toy, tmp_path):
    runs = {
        put_answers(toy, tmp_path, STATES.replace("unparsed", state), f"{state}.csv").runs[0]
        for state in ("unparsed", "abstained")
    }
    assert len(runs) == 2


def test_states_stay_when_questions_are_replaced(toy, tmp_path):
    put_answers(toy, tmp_path, STATES)
    put(toy, write(tmp_path / "toy", questions=bundle_factory.QUESTIONS.replace("Paris", "Lyon")), replace=True)
    assert [(row[4], row[5]) for row in rows(toy, ALL)] == [
        (0, None), (0, "no_confidence"), (0, "unparsed"), (0, "abstained"), (1, None),
    ]  # fmt: skip


def test_no_grading_makes_an_abstention_right(toy, tmp_path):
    head, *lines = STATES.splitlines()
    text = "\n".join([f"{head},correct,correct.second", *(f"{line},0,1" for line in lines)])
    (run,) = put_answers(toy, tmp_path, text).runs
    for grading, expected in (("graded", [0, 1, 0, 0, 1]), ("second", [1, 1, 0, 0, 1])):
        table = toy.snapshot().with_grading(grading).read_runs("responses", [run], ["correct"])[run]
        assert table["correct"].to_list() == expected, grading
    with pytest.raises(NoSuchGuess):
        correct_grades(toy, run, [Correction("q2", "Nile", 1.0, clue=0)], None)
    correct_grades(toy, run, [Correction("q1", "Paris", 0.5)], None)
    reviewed = toy.snapshot().with_grading("reviewed").read_runs("responses", [run], ["correct"])[run]
    assert reviewed["correct"].to_list() == [0, 0.5, 0, 0, 0]


def test_a_question_with_an_abstention_is_not_unanswered(toy, tmp_path):
    (run,) = put_answers(toy, tmp_path, "question_id,clue,guess,confidence,state\nq1,0,Rome,0.5,\nq2,0,,,abstained\n").runs
    assert unanswered_questions(toy.snapshot(), run).questions == []
    assert rows(toy, "select questions, missing_questions from runs") == [(2, 0)]


def test_a_store_with_states_is_not_reverted(toy, tmp_path):
    put_answers(toy, tmp_path, STATES)

    def undo(connection):
        with pytest.raises(NeedsMigration):
            m0013_answer_states.revert(connection)

    toy.write(undo)
