"""States of an answer in files: how they are read, exported, graded, corrected, and kept from earlier schemas."""

import pytest

from clueline.data.importing.report import Refused
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.gradings import Correction, NoSuchGuess, correct_grades
from clueline.data.store.migrations import m0013_answer_states
from clueline.queries.runs import unanswered_questions
from tests.helpers import bundle_factory
from tests.helpers.bundle_factory import put, put_answers, rows, write

# Guesses that the rules would grade as right stand in rows that are never right.
STATES = """question_id,clue,guess,confidence,state
q1,0,Rome,0.25,
q1,1,Paris,NaN,
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


def put_states(store, folder):
    bundle_factory.put_bundle(store, folder)
    put_answers(store, folder, STATES)


@pytest.fixture
def states(prefilled):
    """A store with the run ``STATES``."""
    return prefilled(put_states)


def test_a_column_says_the_state(states, tmp_path):
    assert rows(states, ALL) == STORED
    run = rows(states, "select run from runs")[0][0]
    for ending in ("jsonl", "parquet"):
        assert put_answers(states, tmp_path, bundle_factory.in_format(STATES, ending), f"run.{ending}").stored == [run]
    assert rows(states, "select question_id, items, correct from statistics order by 1") == [("q1", 1, 0), ("q2", 1, 1)]
    assert put_answers(states, tmp_path, STATES.replace("unparsed", "abstained")).stored == [], "another run"


def test_an_unparsed_answer_with_a_confidence_is_wrong_at_it(toy, tmp_path):
    """As released files count it: it is in ECE and in the mean confidence, and no rule or file makes it right."""
    head = "question_id,clue,guess,confidence,correct,state\n"
    report = put_answers(toy, tmp_path, f"{head}q1,0,,0.5,,unparsed\nq1,1,Paris,0.75,1,unparsed\nq1,2,,,,unparsed\n")
    assert [row[3:6] for row in rows(toy, ALL)] == [(0.5, 0, None), (0.75, 0, None), (None, 0, "unparsed")]
    assert rows(toy, "select items, confidence, correct from statistics") == [(2, 1.25, 0)]
    assert rows(toy, "select unparsed from runs") == [(1,)]
    (warning,) = report.warnings
    assert warning == "1 row whose `state` rules out a confidence or a correct answer has one; these values were left out"


def test_what_a_state_rules_out_is_left_out(toy, tmp_path):
    head = "question_id,clue,guess,confidence,correct,state\n"
    report = put_answers(toy, tmp_path, f"{head}q1,0,Rome,0.5,0,\nq1,1,Paris,0.9,1,abstained\nq1,2,Paris,0.9,1,no_confidence\n")
    assert [row[3:6] for row in rows(toy, ALL)] == [(0.5, 0, None), (None, 0, "abstained"), (None, 1, "no_confidence")]
    assert report.warnings == [
        "2 rows whose `state` rules out a confidence or a correct answer have one; these values were left out"
    ]


def test_states_stay_when_questions_are_replaced(states, tmp_path):
    put(states, write(tmp_path / "toy", questions=bundle_factory.QUESTIONS.replace("Paris", "Lyon")), replace=True)
    assert [(row[4], row[5]) for row in rows(states, ALL)] == [
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
    head = "question_id,clue,guess,confidence"
    text = f"{head},state\nq1,0,Rome,0.5,\nq1,1,,,failed\nq2,0,,,abstained\n"
    (run,) = put_answers(toy, tmp_path, text).runs
    assert unanswered_questions(toy.snapshot(), run).questions == []
    assert rows(toy, "select questions, missing_questions, failed from runs") == [(2, 0, 1)]
    marked = f"{head},state,failed\nq1,0,Rome,0.5,,\nq1,1,,,,true\nq2,0,,,abstained,\n"
    assert put_answers(toy, tmp_path, marked, "marked.csv").stored == [run], "the call that failed, marked another way"


def test_a_store_with_states_is_not_reverted(states):
    def undo(connection):
        with pytest.raises(NeedsMigration):
            m0013_answer_states.revert(connection)

    states.write(undo)


# Four clues of one question and one of another, three samples each; the fourth sample of the last one is a failed call.
SAMPLES = """question_id,clue,sample,guess,correct,state
q1,0,1,The Seine,1,
q1,0,2,seine!,1,
q1,0,3,Loire,0,
q1,1,1,"1,000",0,
q1,1,2,-1000,0,
q1,1,3,1e3,1,
q1,2,1,c,0,
q1,2,2,b,0,
q1,2,3,a,1,
q2,0,1,IDK,,abstained
q2,0,2,IDK,,abstained
q2,0,3,Nile,1,
q2,1,1,,,unparsed
q2,1,2,Nile,1,
q2,1,3,Nile,1,
q2,1,4,,,failed
"""
AGREED = [
    ("q1", 0, "The Seine", 2 / 3, 1.0, None, "file"),
    ("q1", 1, "1,000", 2 / 3, 0.5, None, "file"),  # the same number, although it was graded differently
    ("q1", 2, "c", 1 / 3, 0.0, None, "file"),  # of equally frequent answers, the first
    ("q2", 0, "IDK", None, 0.0, "abstained", "abstained"),
    ("q2", 1, "Nile", 2 / 3, 1.0, None, "file"),  # an answer that could not be read agrees with none; a failed call is none
]


def test_samples_agree_if_that_is_asked(toy, tmp_path):
    report = put_answers(toy, tmp_path, SAMPLES, elicitation="no confidence")
    assert "agreement" in report.hints and any("up to 4 answers to a question" in line for line in report.warnings)
    (run,) = put_answers(toy, tmp_path, SAMPLES, elicitation="no confidence", agreement=True).runs
    snapshot = toy.snapshot()
    sql = f"select {COLUMNS} from {snapshot.responses([run])} order by question_id, clue"
    assert snapshot.rows(sql) == AGREED
    facts = "select elicitation, items, abstained, failed, samples from runs where run = $r"
    assert snapshot.rows(facts, {"r": run}) == [("agreement", 4, 1, 0, 1)]


def test_other_runs_of_the_file_stay(toy, tmp_path):
    """Two samples agree or not: that says little. Nor does it matter how many agree if confidences are stated."""
    lines = SAMPLES.splitlines()
    few = [f"two,{line}" for line in lines[1:] if line.split(",")[2] in "12"]
    text = "\n".join(
        [
            f"model,{lines[0]},confidence",
            *(f"all,{line}," for line in lines[1:]),
            *(f"{line}," for line in few),
            *(f"stated,q1,1,{n},x,1,,0.5" for n in range(3)),
        ]
    )
    report = put_answers(toy, tmp_path, text + "\n", agreement=True, model=None)
    names = rows(toy, "select model, elicitation, samples from runs order by model")
    assert names == [("all", "verbalized, agreement", 1), ("stated", "verbalized", 3), ("two", "verbalized", 2)]
    assert any("all (verbalized): how many of up to 4 samples agree" in line for line in report.lines)


@pytest.mark.parametrize(("respondents", "reason"), [(True, "different people"), (False, "no run has 3 samples")])
def test_what_cannot_agree_is_refused(toy, tmp_path, respondents, reason):
    text = SAMPLES if respondents else STATES
    with pytest.raises(Refused, match=reason):
        put_answers(toy, tmp_path, text, agreement=True, respondents=respondents)
