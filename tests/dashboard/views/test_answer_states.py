"""States of an answer and failed calls wherever they are shown: the leaderboard, runs, a question, diagrams, JSON and CSV."""

from urllib.parse import quote

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from tests.helpers.bundle_factory import RESPONSES, put, write
from tests.helpers.drawn_pages import everything, sent, walk
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


def test_pages_show_shares_and_bounds(app):
    page = everything(app, "/", "metrics=brier,ece,accuracy")
    for text in (">No confidence</th>", ">Unparsed</th>", ">Abstained</th>", "10.0 %", "5.0 %", "no bounds"):
        assert text in page, text
    assert "16 % of answers lack a confidence" in page and " to " in page
    assert ">No confidence</th>" not in everything(app, "/", "model=clear")
    assert "2 answers without a confidence, 1 unparsed answer and 1 abstention" in everything(app, "/runs")
    assert "vague (16 % of answers lack a confidence)" in everything(app, "/reliability")


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


def test_a_value_over_other_questions_than_its_row_counts_them(app):
    keys = "metrics=accuracy,accuracy_scored,mean_confidence"
    client = app.test_client()
    lines = {line["model"]: line for line in table(client, f"/api/v1/leaderboard.csv?dataset=quiz&{keys}")}
    assert (lines["vague"]["questions"], lines["vague"]["accuracy_questions"]) == ("16", "20")
    assert "accuracy_scored_questions" not in lines["vague"], "what stands beside a mean confidence is over the same answers"
    right = sum(n % 3 > 0 for n in range(QUESTIONS) if n not in VAGUE)
    assert float(lines["vague"]["accuracy_scored"]) == right / 16
    assert ">of 20<" in everything(app, "/", keys)
    cited = client.get(f"/api/v1/cite?view={quote(f'/?dataset=quiz&{keys}')}").json
    (row,) = [row for row in cited["rows"] if row[0] == "vague"]
    assert [cell for cell in row if "(of 20)" in cell] == [row[cited["columns"].index("Accuracy")]]
    assert "Accuracy is over 20 questions." in cited["methods"]


def test_abstentions_alone_make_no_net_score(tmp_path):
    """It had 0, that of four abstentions, and was called almost never right, with 25 of 40 right."""
    store, numbers = open_store(tmp_path / "store"), range(40)
    questions = "question_id\n" + "".join(f"q{n}\n" for n in numbers)
    put(store, write(tmp_path / "quiz", {"dataset": "quiz", "kind": "single"}, questions=questions, clues=None))
    states = ("abstained" if n >= 36 else "no_confidence" for n in numbers)
    (tmp_path / "plain.csv").write_text(HEAD + "".join(f"q{n},x,,{int(n < 25)},{s}\n" for n, s in enumerate(states)))
    put(store, tmp_path / "plain.csv", dataset="quiz", model="plain")
    client = create_app(Settings(store=store.url, workers=1)).test_client()
    (row,) = client.get("/api/v1/leaderboard?dataset=quiz&metrics=net_score,accuracy,attempted").json["rows"]
    net, accuracy, attempted = (row["metrics"][key] for key in ("net_score", "accuracy", "attempted"))
    assert net["value"] is None and "confidence" in net["missing"] and row["note"] is None
    assert (net["bound_low"], net["bound_high"]) == pytest.approx((-11 / 40, 25 / 40))
    assert (accuracy["value"], accuracy["questions"], attempted["value"]) == (25 / 40, 40, 36 / 40)
    assert client.get("/api/v1/runs?dataset=quiz").status_code == 200


def test_confidence_and_accuracy_are_drawn_of_the_same_answers(app):
    """A dot and its ring differ by the overconfidence that the table shows beside them."""
    board = app.test_client().get("/api/v1/leaderboard?dataset=quiz&metrics=accuracy_scored,mean_confidence,overconfidence").json
    for row in board["rows"]:
        right, stated, gap = (row["metrics"][key]["value"] for key in ("accuracy_scored", "mean_confidence", "overconfidence"))
        assert stated - right == pytest.approx(gap, abs=1e-12)
    figure = next(part for part in walk(sent(app, "/")) if isinstance(part.get("name"), str) and part["name"] == "Accuracy")
    assert figure["x"] == pytest.approx([row["metrics"]["accuracy_scored"]["value"] for row in board["rows"] if row["ranked"]])


@pytest.mark.parametrize(
    ("question", "words"), [("q0", "no confidence is stated"), ("q2", "no answer could be read"), ("q3", "the model abstained")]
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


FAILED = "question_id,clue,guess,confidence,failed\nq1,0,Rome,0.25,\nq1,1,ERROR,0,\nq2,0,,,true\nq2,1,,,true\n"


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    root = tmp_path_factory.mktemp("failures")
    store = open_store(root / "store")
    put(store, write(root / "toy", responses=RESPONSES), model="steady")
    put(store, write(root / "sound", {"dataset": "sound", "kind": "incremental"}, responses=RESPONSES), model="steady")
    (root / "run.csv").write_text(FAILED)
    put(store, root / "run.csv", dataset="toy", model="crashing")
    return create_app(Settings(store=store.url, workers=1))


@pytest.mark.parametrize(("query", "meaning"), [("", "They are left out"), ("failed=1", "They count as wrong in accuracy")])
def test_rankings_count_failed_calls(failing, query, meaning):
    page = everything(failing, "/", query)
    assert ">Failed</th>" in page and meaning in page
    assert ">Failed</th>" not in everything(failing, "/", "dataset=sound")


def test_there_is_a_control_where_calls_failed(failing):
    for path in ("/", "/reliability", "/buzz", "/compare", "/slices", "/questions", "/questions/toy/q1"):
        page = everything(failing, path)
        assert "counted as wrong in accuracy" in page, path
        other = path.replace("toy", "sound")
        assert "counted as wrong in accuracy" not in everything(failing, other, "" if "sound" in other else "dataset=sound"), path


def test_a_failed_clue_is_not_shown_as_a_guess(failing):
    page = everything(failing, "/questions/toy/q1", "clue=1")
    assert page.count("no answer: the call failed") >= 3  # the table, the figure, and what its marks mean
    assert "no answer: the call failed" in everything(failing, "/questions/toy/q2")
    assert "no answer: the call failed" not in everything(failing, "/questions/sound/q1")


def test_players_who_did_not_buzz_are_not_failed_calls(tmp_path):
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy"))
    (tmp_path / "people.csv").write_text(
        "question_id,clue,sample,guess,confidence,buzz,failed\nq1,2,P001,,,false,true\nq1,2,P002,,,false,true\n"
        "q2,1,P001,Nile,0.5,true,\n"
    )
    put(store, tmp_path / "people.csv", form="responses", dataset="toy", model="People", respondents=True)
    app = create_app(Settings(store=store.url, workers=1))
    assert ">no buzz</td>" in everything(app, "/questions/toy/q1")
    assert ">no buzz</td>" not in everything(app, "/questions/toy/q2")


def test_runs_say_how_many_calls_failed(failing):
    assert "3 failed calls" in everything(failing, "/runs")
    client = failing.test_client()
    rows = {row["model"]: row for row in client.get("/api/v1/runs?dataset=toy").json["runs"]}
    assert {model: (row["items"], row["questions"], row["missing_questions"], row["failed"]) for model, row in rows.items()} == {
        "steady": (5, 2, 0, 0), "crashing": (1, 1, 1, 3),
    }  # fmt: skip


def test_an_export_marks_failed_calls(failing):
    client = failing.test_client()
    run = next(row["run"] for row in client.get("/api/v1/runs").json["runs"] if row["model"] == "crashing")
    lines = client.get(f"/api/v1/runs/{run}/responses.csv").text.splitlines()
    assert lines[0] == "question_id,clue,failed,guess,confidence,model,elicitation"
    assert lines[2:] == [f"q{q},{clue},true,,,crashing,verbalized" for q, clue in ((1, 1), (2, 0), (2, 1))]
