"""Importing a dataset again: the same, changed, or with additions."""

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import PEOPLE, TEXTS, VOTED, rows


def test_importing_the_same_again_changes_nothing(store, folder):
    bundles.put(store, bundles.write(folder, **TEXTS), model="m")
    version, stored = store.version(), bundles.content(store)
    report = bundles.put(store, folder, model="m")
    assert (store.version(), bundles.content(store)) == (version, stored)
    assert report.lines[1:] == [
        "dataset toy: 2 questions, already there",
        f"run {report.runs[0]} (m, verbalized, toy): 5 items of 2 questions, already there",
    ]
    assert report.warnings == []

    def turned(text):
        header, *lines = text.splitlines()
        return "\n".join([header, *reversed(lines)])

    in_other_order = bundles.put(store, bundles.write(folder, **{name: turned(text) for name, text in TEXTS.items()}), model="m")
    assert (store.version(), in_other_order.runs) == (version, report.runs)


CHANGES = [
    {"questions": bundles.QUESTIONS.replace("Nile", "Niger")},
    {"questions": bundles.QUESTIONS + "q3,Rome,Places\n"},
    {"questions": bundles.QUESTIONS.replace("q2,Nile,Places", "q2,Nile,Rivers")},
    {"clues": bundles.CLUES.replace("of iron", "of steel")},
    {"clues": bundles.CLUES.replace(",10\n", ",9\n")},
    {"facts": bundles.FACTS | {"kind": "single"}},
    {"facts": bundles.FACTS | {"classes": ["a", "b"]}},
]


def test_other_questions_are_refused(toy, folder):
    version, stored = toy.version(), bundles.content(toy)
    for change in CHANGES:
        refused = bundles.refusal(toy, bundles.write(folder, **change))
        problem = refused.problems[0]
        assert problem.file == "toy/dataset.json"
        assert problem.reason == ("dataset 'toy' is stored with different questions, and runs may depend on them")
    assert (toy.version(), bundles.content(toy)) == (version, stored)
    bundles.put(toy, folder, dataset="another")
    assert rows(toy, "select dataset from datasets order by position") == [("toy",), ("another",)]


def test_other_facts_are_kept_unless_replaced(toy, folder):
    version = toy.version()
    renamed = bundles.write(folder, bundles.FACTS | {"title": "Renamed", "licence": "CC0"})
    report = bundles.put(toy, renamed)
    assert report.warnings == [
        "dataset toy keeps its stored title, licence, although the file says otherwise; "
        "replacing the dataset would use what the file says"
    ]
    assert toy.version() == version
    bundles.put(toy, renamed, replace=True)
    assert rows(toy, "select title, licence, position from datasets") == [("Renamed", "CC0", 0)]
    assert len(rows(toy, "from questions")) == 2


def test_replaced_questions_keep_the_runs_that_fit(store, folder):
    answers = bundles.records(bundles.RESPONSES)
    both = [row | {"model": model} for model, count in (("whole", 5), ("partial", 3)) for row in answers[:count]]
    bundles.put(store, bundles.write(folder, responses=bundles.table(both), **PEOPLE))
    q3 = {"questions": bundles.QUESTIONS.replace("q2,Nile", "q3,Rome"), "clues": bundles.CLUES.replace("q2", "q3")}
    report = bundles.put(store, bundles.write(folder, **q3), replace=True)
    assert report.lines[1] == "dataset toy: 2 questions replaced"
    assert rows(store, "select model, withdrawn_at is null, missing_questions from runs order by position") == [
        ("whole", False, 0), ("partial", True, 1),
    ]  # fmt: skip
    assert len(rows(store, "from responses")) == 8  # a withdrawn run keeps its responses
    assert rows(store, "select distinct question_id from buzzes") == [("q1",)]
    assert rows(store, "select distinct question_id from exposures") == [("q1",)]
    assert rows(store, "select distinct question_id from curves") == [("q1",)]
    assert bundles.put(store, bundles.write(folder, **q3)).lines[1] == "dataset toy: 2 questions, already there"


def test_replaced_clues_move_the_buzzes(store, folder):
    bundles.put(store, bundles.write(folder, **PEOPLE))
    bundles.put(store, bundles.write(folder, clues=bundles.CLUES.replace(",5\n", ",8\n")), replace=True)
    assert rows(store, "select clue from buzzes where team = 'Birch'") == [(0,)]
    assert rows(store, "select list(team_share order by clue) from curves where question_id = 'q1'") == [([0.5, 0.5, 0.5],)]


def test_replaced_answers_grade_the_runs_again(store, folder):
    models = ({"model": "graded"}, {"model": "stated", "correct": 0})
    both = [row | model for model in models for row in bundles.records(bundles.RESPONSES)]
    bundles.put(store, bundles.write(folder, responses=bundles.table(both)))
    bundles.put(store, bundles.write(folder, questions=bundles.QUESTIONS.replace("Paris [", "Rome [")), replace=True)
    sql = "select list(correct order by clue) from responses join runs using (run) where question_id = 'q1' and model = '{}'"
    assert rows(store, sql.format("graded")) == [([1.0, 0.0, 0.0],)]
    assert rows(store, sql.format("stated")) == [([0.0, 0.0, 0.0],)]
    assert rows(
        store, "select s.correct from statistics s join runs using (run) where model = 'graded' and question_id = 'q1'"
    ) == [(1.0,)]
    no_answer = bundles.QUESTIONS.replace("Paris [accept City of Light; prompt on France]", "")
    bundles.put(store, bundles.write(folder, questions=no_answer), replace=True)
    assert rows(store, "select model, withdrawn_at is null from runs order by 1") == [("graded", False), ("stated", True)]


def test_people_can_come_later(store, folder):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    run = rows(store, "select run from runs")
    assert rows(store, "from curves") == []
    assert (
        rows(store, "select team_share_reward, difficulty_source from statistics join questions using (question_id)")
        == [(None, "runs")] * 2
    )
    report = bundles.put(store, bundles.write(folder, **PEOPLE))
    assert rows(store, "select run from runs") == run
    assert "dataset toy: 2 questions, already there" in report.lines
    assert rows(store, "select * exclude (dataset, question_id) from curves where question_id = 'q1' order by clue") == [
        (0, 2, 0.0, 0.0, 0.0, 0.0), (1, 2, 1.0, 0.5, 0.5, 1.0), (2, 2, 1.0, 0.5, 0.5, 1.0),
    ]  # fmt: skip
    assert rows(store, "select question_id, difficulty, difficulty_source from questions order by 1") == [
        ("q1", 0.5, "human"),
        ("q2", 1.0, "human"),
    ]
    assert all(reward is not None for (reward,) in rows(store, "select team_share_reward from statistics"))


def test_people_can_be_added_but_not_changed(store, folder):
    bundles.put(store, bundles.write(folder, **PEOPLE))
    version = store.version()
    more = {
        name: text + line
        for (name, text), line in zip(PEOPLE.items(), ["q2,m3,Oak,human,,\n", "q2,m3,Oak,4,true,Nile\n"], strict=True)
    }
    bundles.put(store, bundles.write(folder, **more))
    assert store.version() != version
    assert len(rows(store, "from exposures")) == 5
    other = {"buzzes": more["buzzes"].replace("Birch,7,true", "Birch,6,true")}
    with pytest.raises(Refused, match="holds different values for the same question, match, team"):
        bundles.put(store, bundles.write(folder, **other))
    bundles.put(store, bundles.write(folder, **PEOPLE | other), replace=True)
    assert rows(store, "select word from buzzes where team = 'Birch'") == [(6,)]
    assert len(rows(store, "from exposures")) == 5  # Oak's buzz implies an exposure
    bundles.put(store, bundles.write(folder, **PEOPLE), replace=True)
    assert len(rows(store, "from buzzes")) == 3
    assert len(rows(store, "from exposures")) == 4


def test_votes_change_only_when_replaced(store, folder):
    files = {"facts": VOTED, "questions": "question_id\nv1\n", "clues": None}
    bundles.put(store, bundles.write(folder, **files, votes="question_id,class,votes\nv1,yes,3\n"))
    changed = bundles.write(folder, **files, votes="question_id,class,votes\nv1,no,3\n")
    more = bundles.write(folder.parent / "more", **files, votes="question_id,class,votes\nv1,yes,4\n")
    with pytest.raises(Refused, match="holds different values for the same question, class"):
        bundles.put(store, more)
    bundles.put(store, changed, replace=True)
    assert rows(store, "select class, votes, answer from votes join questions using (question_id)") == [("no", 3, "no")]
