"""Failed calls wherever they are shown: rankings, runs, a question, the controls, and JSON."""

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.store import open_store
from tests.helpers.bundle_factory import RESPONSES, put, write
from tests.helpers.drawn_pages import everything

FAILED = "question_id,clue,guess,confidence,failed\nq1,0,Rome,0.25,\nq1,1,ERROR,0,\nq2,0,,,true\nq2,1,,,true\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    root = tmp_path_factory.mktemp("failures")
    store = open_store(root / "store")
    put(store, write(root / "toy", responses=RESPONSES), model="steady")
    put(store, write(root / "sound", {"dataset": "sound", "kind": "incremental"}, responses=RESPONSES), model="steady")
    (root / "run.csv").write_text(FAILED)
    put(store, root / "run.csv", dataset="toy", model="crashing")
    return create_app(Settings(store=store.url, workers=1))


@pytest.mark.parametrize(("query", "meaning"), [("", "They are left out"), ("failed=1", "They count as wrong in accuracy")])
def test_rankings_count_them(app, query, meaning):
    page = everything(app, "/", query)
    assert ">Failed</th>" in page and meaning in page
    assert ">Failed</th>" not in everything(app, "/", "dataset=sound")


def test_there_is_a_control_where_calls_failed(app):
    for path in ("/", "/reliability", "/difficulty", "/buzz", "/compare", "/slices", "/questions", "/questions/toy/q1"):
        page = everything(app, path)
        assert "counted as wrong in accuracy" in page, path
        other = path.replace("toy", "sound")
        assert "counted as wrong in accuracy" not in everything(app, other, "" if "sound" in other else "dataset=sound"), path


def test_a_failed_clue_is_not_shown_as_a_guess(app):
    page = everything(app, "/questions/toy/q1", "clue=1")
    assert page.count("no answer: the call failed") >= 3  # the table, the figure, and what its marks mean
    assert "no answer: the call failed" in everything(app, "/questions/toy/q2")
    assert "no answer: the call failed" not in everything(app, "/questions/sound/q1")


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


def test_runs_say_how_many(app):
    assert "3 failed calls" in everything(app, "/runs")
    client = app.test_client()
    rows = {row["model"]: row for row in client.get("/api/v1/runs?dataset=toy").json["runs"]}
    assert {model: (row["items"], row["questions"], row["missing_questions"], row["failed"]) for model, row in rows.items()} == {
        "steady": (5, 2, 0, 0), "crashing": (1, 1, 1, 3),
    }  # fmt: skip


def test_json_counts_them(app):
    client = app.test_client()
    for failed, items in (("0", 1), ("1", 4)):
        board = client.get(f"/api/v1/leaderboard?dataset=toy&failed={failed}&metrics=accuracy").json
        row = next(row for row in board["rows"] if row["model"] == "crashing")
        assert (row["items"], row["failed"]) == (items, 3)
    listed = client.get(f"/api/v1/items?dataset=toy&failed=1&run={row['run']}").json["items"]
    assert sorted(item["failed"] for item in listed) == [False, True, True, True]
    refused = client.get("/api/v1/leaderboard?failed=maybe")
    assert refused.status_code == 400 and refused.json["error"]["allowed"] == ["0", "1"]


def test_an_export_marks_failed_calls(app):
    client = app.test_client()
    run = next(row["run"] for row in client.get("/api/v1/runs").json["runs"] if row["model"] == "crashing")
    lines = client.get(f"/api/v1/runs/{run}/responses.csv").text.splitlines()
    assert lines[0] == "question_id,clue,failed,guess,confidence,model,elicitation"
    assert lines[2:] == [f"q{q},{clue},true,,,crashing,verbalized" for q, clue in ((1, 1), (2, 0), (2, 1))]
