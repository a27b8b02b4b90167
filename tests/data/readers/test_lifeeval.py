"""LifeEval: grading by the life table, and the files of its release."""

import json

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows

RELEASED = "Question Prompt,Confidence Prompt,True Lifespan,Question ID\nHow old?,How sure?,74,0\nHow old?,How sure?,74,525\n"


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


def test_questions_and_answers_of_the_release_are_imported(store, tmp_path):
    bundles.put_file(store, tmp_path / "questions.csv", RELEASED)
    report = bundles.put_file(
        store, tmp_path / "answers.csv", "Answer,Confidence,Question ID\n76,0.25,525\nold,0.5,0\n", model="m"
    )
    assert rows(store, "select question_id, sex, minimum_age, radius, text from questions order by position") == [
        ("0", "male", 0, 1, "How old? How sure?"), ("525", "female", 30, 5, "How old? How sure?"),
    ]  # fmt: skip
    assert rows(store, "select question_id, guess, confidence, state from responses order by question_id desc") == [
        ("525", "76", 0.25, None), ("0", None, None, "unparsed"),
    ]  # fmt: skip
    assert rows(store, "select items, questions, missing_questions, unparsed from runs") == [(1, 2, 0, 1)]
    assert json.loads(rows(store, "select skipped from runs")[0][0]) == {"answer is not a number": 1}
    assert report.lines[-1].endswith("1 item of 2 questions imported; 1 unparsed answer (1 row: answer is not a number)")


PAIRS = """llm,qset,question_id,stated_confidence,chosen_token_confidence,max_token_confidence,correct
a,boolq_valid,0,0.75,0.5,0.5,TRUE
a,boolq_valid,1,0.25,NA,NA,FALSE
b,boolq_valid,0,NA,NA,NA,TRUE
b,boolq_valid,1,1,NA,NA,TRUE
a,sat_en,0_h,0.5,NA,NA,FALSE
"""


def test_pairs_make_a_dataset_of_each_set(store, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS)
    report = bundles.put(store, path)
    assert rows(store, "select dataset, title, kind from datasets order by 1") == [
        ("lifeeval-boolq-valid", "LifeEval: boolq_valid", "single"), ("lifeeval-sat-en", "LifeEval: sat_en", "single"),
    ]  # fmt: skip
    columns = "r.dataset, model, elicitation, question_id, confidence, r.correct, state"
    assert rows(store, f"select {columns} from responses r join runs using (run) order by 1, 2, 3, 4") == [
        ("lifeeval-boolq-valid", "a", "stated", "0", 0.75, 1.0, None),
        ("lifeeval-boolq-valid", "a", "stated", "1", 0.25, 0.0, None),
        ("lifeeval-boolq-valid", "a", "token", "0", 0.5, 1.0, None),
        ("lifeeval-boolq-valid", "a", "token", "1", None, 0.0, "no_confidence"),
        ("lifeeval-boolq-valid", "b", "stated", "0", None, 1.0, "no_confidence"),
        ("lifeeval-boolq-valid", "b", "stated", "1", 1.0, 1.0, None),
        ("lifeeval-sat-en", "a", "stated", "0_h", 0.5, 0.0, None),
    ]
    assert len(report.runs) == 4
    version = store.version()
    assert len(bundles.put(store, path).stored) == 4
    assert store.version() == version
    path.write_text("\n".join(PAIRS.splitlines()[:2]).replace("a,", "c,"))
    bundles.put(store, path)
    assert rows(store, "select count(*) from runs where model = 'c'") == [(2,)]


@pytest.mark.parametrize(
    ("cells", "column", "reason"),
    [
        ("a,s,1,85,NA,NA,TRUE", "stated_confidence", "must be a number in [0, 1], or NA"),
        ("a,s,1,high,NA,NA,TRUE", "stated_confidence", "must be a number in [0, 1], or NA"),
        ("a,s,1,0.5,-1,NA,TRUE", "chosen_token_confidence", "must be a number in [0, 1], or NA"),
        ("a,s,1,0.5,NA,NA,perhaps", "correct", "must be true, false or a number"),
        (",s,1,0.5,NA,NA,TRUE", "llm", "a value is required here"),
        ("a,s,1,0.5,NA,NA,TRUE\na,s,1,0.5,NA,NA,TRUE", "question_id", "this run has an answer to this question and clue already"),
    ],
)
def test_bad_pairs_are_reported(store, tmp_path, cells, column, reason):
    with pytest.raises(Refused) as refused:
        bundles.put_file(store, tmp_path / "pairs.csv", f"{PAIRS.splitlines()[0]}\n{cells}\n")
    assert (refused.value.problems[0].column, refused.value.problems[0].reason) == (column, reason)


def people(folder, *lines, header="ResponseId,PGuess,PConf,MinAge,Radius_x,SexMale"):
    path = folder / "people.csv"
    path.write_text("\n".join([header, *lines, ""]))
    return path


@pytest.fixture
def asked(store, folder):
    """A store with two questions of LifeEval that have ids of their own."""
    facts = {"dataset": "lifeeval", "kind": "lifeeval", "title": "LifeEval"}
    questions = "question_id,sex,minimum_age,radius\nher,female,1,5\nhim,male,30,20\n"
    bundles.put(store, bundles.write(folder, facts, questions=questions, clues=None))
    return store


def test_respondents_are_samples_of_one_run(asked, tmp_path):
    lines = ("R_1,80,89,1,5,0", "R_2,85,40,1,5,0", "R_2,78,100,30,20,1", "R_3,eighty,50,30,20,1", "R_3,80,101,1,5,0")
    report = bundles.put(asked, people(tmp_path, *lines))
    assert rows(asked, "select question_id, sample, guess, confidence, state from responses order by 1, 2") == [
        ("her", "R_1", "80", 0.89, None), ("her", "R_2", "85", 0.4, None), ("her", "R_3", "80", None, "no_confidence"),
        ("him", "R_2", "78", 1.0, None), ("him", "R_3", None, None, "unparsed"),
    ]  # fmt: skip
    assert rows(asked, "select model, elicitation, items, questions, samples, respondents from runs") == [
        ("People", "verbalized", 3, 2, 3, True)
    ]
    assert rows(asked, "select no_confidence, unparsed, failed from runs") == [(1, 1, 0)]
    assert "1 time: answer is not a number" not in report.lines
    again = bundles.put(asked, people(tmp_path, *lines[::-1]))
    assert again.stored == report.runs


def test_bad_answers_of_people_are_reported(asked, store, tmp_path):
    answers = people(tmp_path, "R_1,80,89,2,5,0", "R_1,80,89,1,5,0", ",80,89,1,5,0")
    assert [(problem.line, problem.column, problem.reason) for problem in bundles.refusal(asked, answers).problems] == [
        (2, "MinAge", "dataset lifeeval has no question of this sex, age and radius"),
        (4, "ResponseId", "a value is required here"),
    ]
    with pytest.raises(Refused, match="this run has an answer to this question and clue already"):
        bundles.put(asked, people(tmp_path, "R_1,80,89,1,5,0", "R_1,81,89,1,5,0"))
    with pytest.raises(Refused, match="these are answers to LifeEval's questions"):
        bundles.put(store, bundles.write(tmp_path / "toy"), people(tmp_path, "R_1,80,89,1,5,0"), dataset="toy")


def test_people_need_questions(tried, tmp_path):
    with pytest.raises(Refused, match="there is no dataset 'lifeeval' for these answers; import its questions first"):
        tried(people(tmp_path, "R_1,80,89,1,5,0"))


def test_the_prompt_that_models_saw_replaces_our_wording(store, folder, tmp_path):
    facts = {"dataset": "lifeeval", "kind": "lifeeval", "title": "LifeEval", "note": "ours", "source": "ours"}
    ours = "question_id,text,sex,minimum_age,radius\n0,How long will he live?,male,0,1\n525,And she?,female,30,5\n"
    answers = "question_id,guess,confidence\n0,76,0.5\n525,85,0.5\n"
    bundles.put(store, bundles.write(folder, facts, questions=ours, clues=None, responses=answers), model="m")
    runs = "select run, items from runs"
    before = rows(store, runs), rows(store, "select question_id, correct from responses order by 1")
    report = bundles.put_file(store, tmp_path / "questions.csv", RELEASED)
    assert report.lines[-1] == "dataset lifeeval: 2 questions reworded: the texts are now those of the file"
    assert (
        rows(store, "select distinct text from questions")
        == rows(store, "select distinct text from clues")
        == [("How old? How sure?",)]
    )
    assert rows(store, "select title, note, source from datasets") == [("LifeEval", "ours", "ours")]
    assert (rows(store, runs), rows(store, "select question_id, correct from responses order by 1")) == before
    version = store.version()
    assert bundles.put(store, tmp_path / "questions.csv").lines[-1] == "dataset lifeeval: 2 questions, already there"
    assert store.version() == version
