"""Imports of what people did: exposures, buzzes and votes."""

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import PEOPLE, VOTED, rows

ENDS = {0: 0, 4: 0, 5: 1, 9: 1, 10: 2, 15: 2, 16: 2}  # the clue of a buzz at a word
BUZZES = "question_id,match_id,team,word,correct\n"
# A bundle in which buzzes imply exposures.
IMPLIED = {
    "exposures": "question_id,match_id,team,team_kind\nq2,m9,Robot,model\n",
    "buzzes": BUZZES + "q1,m1,Ash,1,false\nq1,m1,Robot,2,false\n",
}


def test_exposures_and_buzzes_are_imported(store, folder):
    ends = {"buzzes": BUZZES + "".join(f"q1,m{word},Ash,{word},yes\n" for word in ENDS)}
    report = bundles.put(store, *(
        bundles.write(folder / name, bundles.FACTS | {"dataset": name}, **people)
        for name, people in {"ends": ends, "implied": IMPLIED, "toy": PEOPLE}.items()
    ))  # fmt: skip
    assert {"dataset toy: 4 exposures imported", "dataset toy: 3 buzzes imported"} < {*report.lines}
    assert report.repaired == {"buzzes without an exposure; their teams count as having heard the question": len(ENDS) + 2}
    buzzes = (
        "select question_id, match_id, team, team_kind, word, clue, correct, guess from buzzes where dataset = 'toy' order by all"
    )
    assert rows(store, buzzes) == [
        ("q1", "m1", "Birch", "human", 7, 1, True, "Paris"),
        ("q1", "m2", "Robot", "model", 16, 2, False, "Lyon"),
        ("q2", "m1", "Ash", "human", 3, 0, False, "Ganges"),
    ]
    exposures = "select question_id, team, {} from exposures where dataset = '{}' order by all"
    assert rows(store, exposures.format("heard_words, ended_by", "toy")) == [
        ("q1", "Ash", 8, "Birch"), ("q1", "Birch", 8, "Birch"), ("q1", "Robot", None, None), ("q2", "Ash", None, None),
    ]  # fmt: skip
    assert dict(rows(store, "select word, clue from buzzes where dataset = 'ends' and correct")) == ENDS
    assert rows(store, exposures.format("team_kind, heard_words", "implied")) == [
        ("q1", "Ash", "human", None), ("q1", "Robot", "model", None), ("q2", "Robot", "model", None),
    ]  # fmt: skip


VOTES = "question_id,class,votes\nv1,no,2\nv1,yes,2\nv1,maybe,1\nv2,maybe,5\nv3,no,0\n"


def test_votes_settle_the_answer(store, folder):
    questions = "question_id,answer\nv1,\nv2,no\nv3,\n"
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None, votes=VOTES))
    assert rows(store, "select question_id, answer from questions order by 1") == [("v1", "yes"), ("v2", "no"), ("v3", None)]
    assert rows(store, "select class, votes from votes where question_id = 'v1' order by 1") == [
        ("maybe", 1),
        ("no", 2),
        ("yes", 2),
    ]


def test_votes_can_come_later_together_with_runs(store, folder):
    questions = "question_id,answer\nv1,\nv2,no\n"
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None))
    votes = VOTES.replace("v3,no,0\n", "")
    run = 'question_id,options\nv1,"[0.5, 0.25, 0.25]"\nv2,"[0.5, 0.25, 0.25]"\n'
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None, votes=votes, responses=run), model="m")
    assert rows(store, "select question_id, answer from questions order by 1") == [("v1", "yes"), ("v2", "no")]
    assert rows(store, "select question_id, guess, correct, graded from responses order by 1") == [
        ("v1", "yes", 1.0, "answer"), ("v2", "yes", 0.0, "answer"),
    ]  # fmt: skip
