"""States of an answer wherever they are shown: the leaderboard, runs, a question, diagrams, JSON and CSV."""

from urllib.parse import quote

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.store import open_store
from tests.helpers.bundle_factory import put, write
from tests.helpers.drawn_pages import everything
from tests.helpers.json_api import table

HEAD = "question_id,guess,confidence,correct,state\n"
QUESTIONS = 20
VAGUE = {0: "no_confidence", 1: "no_confidence", 2: "unparsed", 3: "abstained"}


def answers(states):
    return HEAD + "".join(
        f"q{n},x,{'' if n in states else 0.75},{int(n % 3 > 0 and n not in (2, 3))},{states.get(n, '')}\n"
        for n in range(QUESTIONS)
    )


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    root = tmp_path_factory.mktemp("states")
    store = open_store(root / "store")
    questions = "question_id\n" + "".join(f"q{n}\n" for n in range(QUESTIONS))
    put(store, write(root / "quiz", {"dataset": "quiz", "kind": "single", "title": "Quiz"}, questions=questions, clues=None))
    for model, states in (("clear", {}), ("vague", VAGUE), ("other", {})):
        (root / f"{model}.csv").write_text(answers(states))
        put(store, root / f"{model}.csv", dataset="quiz", model=model)
    return create_app(Settings(store=store.url, workers=1))


def test_the_leaderboard_shows_shares_and_bounds(app):
    page = everything(app, "/", "metrics=brier,ece,accuracy")
    for text in (">No confidence</th>", ">Unparsed</th>", ">Abstained</th>", "10.0 %", "5.0 %", "no bounds"):
        assert text in page, text
    assert "16 % of answers lack a confidence" in page and " to " in page
    assert ">No confidence</th>" not in everything(app, "/", "model=clear")


def test_json_and_csv_have_shares_and_bounds(app):
    client = app.test_client()
    board = client.get("/api/v1/leaderboard?dataset=quiz&metrics=brier,accuracy").json
    row = next(row for row in board["rows"] if row["model"] == "vague")
    assert row["shares"] == {"no_confidence": 0.1, "unparsed": 0.05, "abstained": 0.05} and not row["ranked"]
    brier, accuracy = row["metrics"]["brier"], row["metrics"]["accuracy"]
    assert brier["bound_low"] < brier["value"] < brier["bound_high"] and brier["rank"] is None
    assert accuracy["rank"] is not None and accuracy["questions"] == QUESTIONS
    lines = table(client, "/api/v1/leaderboard.csv?dataset=quiz&metrics=brier,accuracy")
    (line,) = [line for line in lines if line["model"] == "vague"]
    assert (line["no_confidence"], line["unparsed"], line["abstained"], line["failed"]) == ("2", "1", "1", "0")
    assert float(line["brier_bound_low"]) == brier["bound_low"] and "accuracy_bound_low" not in line


def test_runs_say_how_many(app):
    page = everything(app, "/runs")
    assert "2 answers without a confidence, 1 unparsed answer and 1 abstention" in page


@pytest.mark.parametrize(
    ("question", "words"),
    [("q0", "no confidence is stated"), ("q2", "no answer could be read"), ("q3", "the model abstained")],
)
def test_a_question_says_why_there_is_no_confidence(app, question, words):
    page = everything(app, f"/questions/quiz/{question}")
    assert words in page
    assert words not in everything(app, "/questions/quiz/q9")


@pytest.mark.parametrize("path", ["/reliability", "/decide", "/which-ece", "/slices", "/compare", "/questions", "/difficulty"])
def test_pages_show_a_run_that_lacks_confidences_alone(app, path):
    run = next(row["run"] for row in app.test_client().get("/api/v1/runs").json["runs"] if row["model"] == "vague")
    page = everything(app, path, f"run={run}")
    assert "No run answered enough" not in page and "NaN" not in page
    assert everything(app, f"/runs/{run}")


def test_other_runs_stay_as_they_are(app):
    page = everything(app, "/reliability")
    assert "vague (16 % of answers lack a confidence)" in page


FOUND = "Left out: 2 answers without a confidence, 1 unparsed answer and 1 abstention"


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("/?dataset=quiz&metrics=brier", f"{FOUND}."),
        (
            "/?dataset=quiz&metrics=brier,accuracy,net_score",
            f"{FOUND}; but Accuracy counts answers without a confidence, unparsed answers and abstentions; Net score counts "
            "abstentions.",
        ),
        ("/reliability?dataset=quiz", f"{FOUND}."),
        ("/questions/quiz/q0", None),  # it lists each answer with its state
        ("/?dataset=quiz&model=clear", None),
    ],
)
def test_citations_say_what_was_left_out(app, view, text):
    answer = app.test_client().get(f"/api/v1/cite?view={quote(view, safe='')}").json
    assert answer["left_out"] == text
    for part in ("latex", "markdown", "methods"):
        assert (text or "Left out") in answer[part] if text else "Left out" not in answer[part], part
