"""Answers on which the gradings of a run differ: how many, who leads under each grading, and lists with and without them."""

import shutil

import pytest

from clueline.data.store import open_store
from clueline.data.store.gradings import Correction, correct_grades
from clueline.queries.breakdown import unsolved
from clueline.queries.engine.disputed_answers import disputed_runs
from clueline.queries.findings import surest_early_mistake
from clueline.queries.gradings import grading_coverage, gradings
from clueline.queries.items import items
from clueline.queries.leaderboard import grading_disagreement, leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.question import question
from clueline.queries.questions import ordered_questions, question_details
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import FACTS, put, table, write

QUESTIONS = [f"q{number}" for number in range(20)]
DISPUTED = QUESTIONS[:6]  # of the run "strict", which the file calls wrong and the second reader calls right
ACCURACY = CATALOGUE["accuracy"]
TOY = Selection("toy")


def answers(model):
    """``steady`` is right on ten questions; ``strict`` on six or, by its second reader, on twelve. Both are wrong on q19."""
    made = []
    for number, name in enumerate(QUESTIONS):
        right = number < 10 if model == "steady" else 6 <= number < 12
        row = {"model": model, "question_id": name, "clue": 0, "guess": f"guess {name}", "confidence": 0.9 if right else 0.8}
        row |= {"correct": int(right)}
        made.append(row | ({"correct.second": 1} if model == "strict" and name in DISPUTED else {}))
    if model == "strict":
        made = [row | {"correct.second": row.get("correct.second", row["correct"])} for row in made]
    return table(made)


def wrong_answers(model):
    """Both models are wrong on both questions; the second reader calls q0 of ``b`` right."""
    wrong = [
        {"model": model, "question_id": name, "clue": 0, "guess": "no", "confidence": 0.5, "correct": 0} for name in ("q0", "q1")
    ]
    return table(wrong if model == "a" else [row | {"correct.second": int(row["question_id"] == "q0")} for row in wrong])


# A quizbowl run with a failed call, an attribute of answers, and disputes at single clues.
BY_CLUE = """model,question_id,clue,guess,confidence,correct,correct.second,prompt,failed
a,q1,0,Rome,0.9,0,1,terse,false
a,q1,1,Oslo,0.6,0,0,long,false
a,q1,2,Paris,0.6,1,0,long,false
a,q2,0,,0.0,0,,terse,true
a,q2,1,Nile,0.8,0,1,terse,false
"""
BUZZES = {
    "exposures": "question_id,match_id,team,team_kind,heard_words,ended_by\nq1,m,Ash,human,13,Ash\n",
    "buzzes": "question_id,match_id,team,word,correct\nq1,m,Ash,12,true\n",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Runs on single-shot questions, and a quizbowl run. The rules grade no guess on questions without answer lines."""
    root = tmp_path_factory.mktemp("disputed")
    store = open_store(root / "store", threads=1)
    toy, unsolved = ({"dataset": name, "kind": "single"} for name in ("toy", "unsolved"))
    questions, few = (table([{"question_id": q, "text": f"text {q}"} for q in names]) for names in (QUESTIONS, ("q0", "q1")))
    runs = {f"responses/{model}": answers(model) for model in ("steady", "strict")}
    wrong = {f"responses/{model}": wrong_answers(model) for model in "ab"}
    put(
        *(store, write(root / "toy", toy, questions=questions, clues=None, **runs)),
        write(root / "by-clue", FACTS | {"dataset": "by-clue"}, responses=BY_CLUE, **BUZZES),
        write(root / "unsolved", unsolved, questions=few, clues=None, **wrong),
    )
    return store


@pytest.fixture(scope="module")
def snapshot(original):
    return original.snapshot()


def run_of(snapshot, model):
    return snapshot.rows("select run from runs where model = $m", {"m": model})[0][0]


def leaders(disagreement):
    return {(leader.grading, leader.model) for leader in disagreement.leaders}


def test_responses_to_few_questions_are_those_among_all(snapshot):
    runs = [run for (run,) in snapshot.rows("select run from runs where dataset = 'toy' order by position")]
    for grading in ("", "second"):
        for graded in (snapshot.with_grading(grading), snapshot.with_grading(grading).with_disputed_marked()):
            every = graded.rows(f"select * from {graded.responses(runs)} order by run, question_id")
            few = graded.rows(f"select * from {graded.responses(runs, ['q3', 'q19'])} order by run, question_id")
            assert few == [row for row in every if not {"q3", "q19"}.isdisjoint(row)] and len(few) == 4


def test_each_grading_has_its_leader(snapshot):
    result = grading_disagreement(snapshot, TOY)
    assert (result.disputed, result.share) == (6, 6 / 40) and result.matters and result.metric == "net_score"
    assert leaders(result) == {("imported", "steady"), ("second", "strict")}
    board, without = (leaderboard(snapshot, TOY.replace(undisputed=choice), [ACCURACY]) for choice in (False, True))
    assert board.gradings == result and board.rows == without.rows, "metrics count disputed answers all the same"
    for grading in ("imported", "second"):
        board = leaderboard(snapshot, TOY.replace(grading=grading), [CATALOGUE["net_score"]])
        first = min(board.rows, key=lambda row: row.metrics["net_score"].rank)
        (leader,) = [leader for leader in result.leaders if leader.grading == grading]
        assert (leader.run, leader.value) == (first.run, first.metrics["net_score"].value)
    few = grading_disagreement(snapshot, TOY.replace(questions=(*QUESTIONS[5:],)))
    assert (few.disputed, few.share, few.leaders) == (1, 1 / 30, []) and not few.matters
    alone = grading_disagreement(snapshot, TOY.on_runs([run_of(snapshot, "steady")]))
    assert (alone.disputed, alone.share, alone.leaders) == (0, 0.0, [])


def test_the_count_is_that_of_the_page_of_gradings(snapshot):
    terse = {"attr": (("prompt", ("terse",)),), "response_attributes": ("prompt",)}
    for narrow, most in (({}, 3), ({"revealed": (0.0, 0.5)}, 2), ({"failed": True}, 3), (terse, 2), ({"q": "q2"}, 1)):
        selection = Selection("by-clue", **narrow)
        (run,) = gradings(snapshot, selection).runs
        assert 0 < grading_disagreement(snapshot, selection).disputed == run.differing <= most, narrow


def test_items_and_answers_are_marked_and_can_be_left_out(snapshot, monkeypatch):
    monkeypatch.setattr("clueline.queries.findings.MIN_TEAMS", 1)
    surest = surest_early_mistake(snapshot, Selection("by-clue"))
    assert (surest.guess, surest.confidence) == ("Oslo", 0.6), "Rome, at 0.9, is disputed"
    strict = run_of(snapshot, "strict")
    listed = items(snapshot, TOY, None, 100, (strict,)).items
    assert {item.question_id for item in listed if item.disputed} == {*DISPUTED}
    kept = items(snapshot, TOY.replace(undisputed=True), None, 100, (strict,))
    assert kept.total == 14 and {item.question_id for item in kept.items} == {*QUESTIONS} - {*DISPUTED}
    for name in ("q0", "q19"):
        marks = [[answer.disputed for answer in run.clues] for run in question(snapshot, TOY, name).runs]
        assert marks == [[False], [name == "q0"]]


def test_wrong_questions_are_marked_or_left_out(snapshot):
    strict = run_of(snapshot, "strict")
    assert disputed_runs(snapshot, TOY) == {name: [strict] for name in DISPUTED}
    (row,) = question_details(snapshot, TOY, ("q0",), [CATALOGUE["brier"]])
    assert row.disputed == [strict]
    worst = f"-brier:{strict}"
    assert {*DISPUTED} <= {*ordered_questions(snapshot, TOY, worst).questions}
    kept = ordered_questions(snapshot, TOY.replace(undisputed=True), worst).questions
    assert {*kept} == {*QUESTIONS} - {*DISPUTED}
    other = f"-brier:{run_of(snapshot, 'steady')}"
    assert len(ordered_questions(snapshot, TOY.replace(undisputed=True), other).questions) == len(QUESTIONS)
    result = unsolved(snapshot, Selection("unsolved")).questions
    assert {row.question_id: row.disputed for row in result} == {"q0": 1, "q1": 0}
    assert [row.question_id for row in unsolved(snapshot, Selection("unsolved", undisputed=True)).questions] == ["q1"]


def test_corrections_count_unless_another_grading_is_named(original, tmp_path):
    shutil.copytree(original.url, tmp_path / "store")
    store = open_store(tmp_path / "store", threads=1)
    steady = run_of(store.snapshot(), "steady")

    def accuracy(grading=""):
        rows = leaderboard(store.snapshot(), TOY.replace(grading=grading), [ACCURACY]).rows
        return {row.model: row.metrics["accuracy"].value for row in rows}

    before = accuracy()
    correct_grades(store, steady, [Correction("q19", "guess q19", 1.0)], "ann")
    assert before == accuracy("imported") == {"steady": 0.5, "strict": 0.3}
    assert accuracy() == accuracy("reviewed") == {"steady": 0.55, "strict": 0.3}
    assert grading_coverage(store.snapshot(), TOY).with_it == 1
    result = grading_disagreement(store.snapshot(), TOY)
    assert result.disputed == 7 and leaders(result) == {("imported", "steady"), ("second", "strict"), ("reviewed", "steady")}
    correct_grades(store, steady, [Correction("q19", "guess q19", None)], "ann")
    assert grading_disagreement(store.snapshot(), TOY).disputed == 6
