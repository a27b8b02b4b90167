"""Decisions of an analyst about guesses: they count as if the file stated them, and are stored with the run."""

import json

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Refused
from clueline.data.importing.run_gradings import doubt
from clueline.data.importing.staging import Decision, ImportOptions
from tests.helpers import bundle_factory as bundles
from tests.helpers.run_tables import with_runs

ROME = Decision("q1", 0, "Rome", 1.0)


@pytest.fixture
def run(prefilled, tmp_path):
    prefilled(bundles.put_bundle)
    path = tmp_path / "run.csv"
    path.write_text(bundles.RESPONSES)
    return path


def put(store, path, *decisions, model="m"):
    (run,) = import_paths(store, [path], ImportOptions(dataset="toy", model=model, decisions=decisions)).runs
    return run


def decisions_of(store, run):
    rows = with_runs(store.snapshot()).rows(
        "select question_id, clue, correct, graded from responses where run = $r order by 1, 2", {"r": run}
    )
    (decisions,) = store.snapshot().rows("select decisions from runs where run = $r", {"r": run})[0]
    return rows, decisions and json.loads(decisions)


def test_a_decision_sets_the_grade_and_is_stored(store, run):
    rows, decisions = decisions_of(store, put(store, run, ROME, Decision("q2", 0, None, 0.5)))
    assert rows == [
        ("q1", 0, 1.0, "person"), ("q1", 1, 1.0, "answer"), ("q1", 2, 1.0, "answer"),
        ("q2", 0, 0.5, "person"), ("q2", 1, 1.0, "answer"),
    ]  # fmt: skip
    assert decisions == [
        {"question_id": "q1", "clue": 0, "guess": "Rome", "correct": 1.0},
        {"question_id": "q2", "clue": 0, "guess": None, "correct": 0.5},
    ]


def test_a_decision_without_a_clue_covers_every_clue(store, run):
    run.write_text(bundles.RESPONSES.replace("paris", "Paris"))
    rows, decisions = decisions_of(store, put(store, run, Decision("q1", None, "Paris", 0.0)))
    assert [row[2] for row in rows[:3]] == [0.0, 0.0, 0.0] and [decision["clue"] for decision in decisions] == [1, 2]


def test_a_decision_counts_as_if_the_file_stated_it(store, run, tmp_path):
    """Runs are named by content. Another decision gives another run; the same decision gives the same run, stated or decided."""
    plain, decided = put(store, run), put(store, run, ROME)
    assert plain != decided == put(store, run, ROME)
    lines = bundles.RESPONSES.splitlines()
    stated = tmp_path / "stated.csv"
    stated.write_text("\n".join([lines[0] + ",correct", lines[1] + ",1", *(line + "," for line in lines[2:])]) + "\n")
    assert put(store, stated) == decided


@pytest.mark.parametrize(
    ("decisions", "reason"),
    [
        ([ROME, Decision("q1", 0, "Paris", 1.0)], "grades, line 2, column guess, value 'Paris': no answer of the file"),
        ([Decision("q9", None, "Rome", 1.0)], "no answer of the file"),
        ([ROME, Decision("q1", None, "Rome", 0.0)], "another decision is about the same answer"),
    ],
)
def test_a_decision_that_fits_nothing_is_refused(store, run, decisions, reason):
    version = store.version()
    with pytest.raises(Refused) as refused:
        put(store, run, *decisions)
    assert len(refused.value.problems) == 1 and reason in str(refused.value.problems[0])
    assert store.version() == version


def test_stated_and_life_table_grades_are_not_decided(store, run, tmp_path):
    run.write_text("question_id,clue,guess,confidence,correct\nq1,0,Rome,0.2,0\n")
    with pytest.raises(Refused, match="the file states whether this is correct"):
        put(store, run, ROME)
    facts = {"dataset": "toy", "kind": "lifeeval", "title": "Ages"}
    questions = "question_id,sex,minimum_age,radius\na,male,30,5\n"
    bundles.put(store, bundles.write(tmp_path / "ages", facts=facts | {"dataset": "ages"}, questions=questions, clues=None))
    run.write_text("question_id,guess,confidence\na,80,0.2\n")
    with pytest.raises(Refused, match="the life table grades this"):
        import_paths(store, [run], ImportOptions(dataset="ages", model="m", decisions=(Decision("a", 0, "80", 1.0),)))


def test_replaced_answers_leave_decisions_unchanged(store, run, tmp_path):
    name = put(store, run, ROME)
    other = bundles.QUESTIONS.replace("Paris [accept City of Light; prompt on France]", "Lyon")
    bundles.put(store, bundles.write(tmp_path / "toy", questions=other), replace=True)
    assert decisions_of(store, name)[0][:3] == [("q1", 0, 1.0, "person"), ("q1", 1, 0.0, "answer"), ("q1", 2, 0.0, "answer")]


def test_doubtful_grades_come_with_a_reason():
    for line, guess, reason in (
        ("Paris [prompt on France]", "France", "prompt"), ("Mary Shelley", "Shelley", "words in common"),
        ("Shelley", "Percy Shelley", "says more"), ("Tchaikovsky", "Tchaikowski", "spelled nearly"),
    ):  # fmt: skip
        assert reason in doubt(line, guess)
    for line, guess in (("Tchaikovsky", "Tchaikovski"), ("Paris", "London"), ("Shelley [reject Percy Shelley]", "Percy Shelley")):
        assert doubt(line, guess) is None
