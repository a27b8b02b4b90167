"""Gradings over HTTP and on the command line: what is listed, and how a grade is corrected."""

import json

import pytest

from data.store import open_store
from data.store.audit import Audit
from tests.helpers.bundle_factory import put, write
from tests.helpers.json_api import error, get, table
from tests.helpers.uploads import upload_client

RESPONSES = """question_id,clue,guess,confidence,correct,correct.second
q1,0,Rome,0.25,0,1
q1,1,Paris,0.5,1,1
q2,1,Nile,0.75,1,1
"""


@pytest.fixture
def server(tmp_path):
    """A server that asks for a token, on a store with one run that has two gradings."""
    store = open_store(tmp_path / "store", threads=1)
    (run,) = put(store, write(tmp_path / "toy", responses=RESPONSES), model="alpha").runs
    made = upload_client(tmp_path / "store")
    made.run = run
    return made


def correct(server, grades, status=201, token=True, **more):
    headers = server.auth if token else {}
    body = json.dumps({"grades": grades}) if isinstance(grades, list) else grades
    answer = server.client.post(f"/api/v1/runs/{server.run}/grades", data=body.encode(), headers=headers, **more)
    assert answer.status_code == status, answer.json
    return answer.json


def accuracy(server, grading):
    address = "/api/v1/leaderboard?metrics=accuracy" + (f"&grading={grading}" if grading else "")
    return get(server.client, address)["rows"][0]["metrics"]["accuracy"]["value"]


def test_a_grade_is_corrected_and_the_leaderboard_follows(server):
    assert accuracy(server, "") == pytest.approx(2 / 3) and accuracy(server, "second") == 1
    first = {"question_id": "q2", "guess": "Nile", "correct": False, "note": "too vague"}
    answer = correct(server, [first])
    (made,) = answer["corrections"]
    assert (made["by"], made["correct"], made["note"], made["clue"]) == ("ann", 0, "too vague", None)
    assert accuracy(server, "reviewed") == accuracy(server, "") == pytest.approx(1 / 3)
    assert accuracy(server, "imported") == pytest.approx(2 / 3)
    answer = correct(server, [first | {"correct": None, "note": None}])
    assert [entry["correct"] for entry in answer["corrections"]] == [0, None]
    assert accuracy(server, "reviewed") == pytest.approx(2 / 3)
    events = Audit(server.service.store.register).page(9)
    assert [(event.action, event.by, event.run, event.grades) for event in events[:2]] == [
        ("corrected_grades", "ann", server.run, "1"),
    ] * 2  # fmt: skip


def test_gradings_and_guesses_are_listed(server):
    (run,) = get(server.client, "/api/v1/gradings?dataset=toy")["runs"]
    assert [grading["name"] for grading in run["gradings"]] == ["imported", "second", "graded"]
    assert [pair["agreeing"] for pair in run["agreements"]] == [2, 3, 2]
    lines = server.client.get("/api/v1/gradings.csv?dataset=toy").get_data(as_text=True).splitlines()
    assert len(lines) == 4 and lines[0].endswith("a,b,agreeing,agreement,kappa")
    listed = get(server.client, f"/api/v1/runs/{server.run}/grades")
    (guess,) = listed["guesses"]
    assert (guess["guess"], guess["grades"]) == ("Rome", {"imported": 0, "second": 1, "graded": 0})
    assert guess["outcome"] == "reject" and guess["rule"] == "the answer line has nothing like it"
    assert get(server.client, f"/api/v1/runs/{server.run}/grades?show=all&limit=2")["total"] == 3


def test_wrong_corrections_are_refused(server):
    version, rome = server.service.store.version(), {"question_id": "q1", "guess": "Rome", "correct": True}
    for grades, status, code in (
        ("{", 400, "bad_value"), ([], 400, "bad_value"), ([rome | {"correct": 2}], 400, "bad_value"),
        ([rome | {"colour": 1}], 400, "bad_value"), ([rome | {"note": "x" * 501}], 400, "bad_value"),
        ([rome | {"guess": "Oslo"}], 422, "unknown_guess"), ([rome] * 1001, 400, "bad_value"),
    ):  # fmt: skip
        assert correct(server, grades, status)["error"]["code"] == code
    assert server.service.store.version() == version


def test_a_correction_needs_a_token_and_a_run(server):
    grade = [{"question_id": "q1", "guess": "Rome", "correct": True}]
    assert correct(server, grade, 401, token=False)["error"]["code"] == "no_token"
    server.run = "0" * 16
    assert correct(server, grade, 404)["error"]["code"] == "unknown_run"
    assert error(server.client, f"/api/v1/runs/{server.run}/grades", 404)["code"] == "unknown_run"


def test_the_command_line_lists_and_corrects(server, cli):
    folder = server.service.store.url
    listed = cli("grades", server.run, store=folder)
    assert "imported and second agree on 2 of 3 answers" in listed.stdout
    assert "q1\tRome\tfor Paris" in listed.stdout and "second 1" in listed.stdout
    done = cli("grades", server.run, "--correct", "q1", "Rome", "right", "--note", "so be it", store=folder)
    assert done.returncode == 0 and "grading=reviewed" in done.stdout
    told = json.loads(cli("grades", server.run, "--show", "corrected", "--json", store=folder).stdout)
    (entry,) = told["guesses"][0]["corrections"]
    assert entry["by"].startswith("system:") and entry["note"] == "so be it" and entry["correct"] == 1
    again = cli("grades", server.run, "--by-rules", store=folder)
    assert again.returncode == 0 and "0 answers differ from the first grading" in again.stdout
    assert accuracy(server, "reviewed") == 1
    refused = cli("grades", server.run, "--correct", "q1", "Oslo", "right", store=folder)
    assert refused.returncode == 1 and "did not answer question 'q1' with 'Oslo'" in refused.stderr
    assert cli("grades", "0" * 16, store=folder).returncode == 1
    assert cli("grades", server.run, "--correct", "q1", "Rome", "maybe", store=folder).returncode == 2


def test_a_file_is_scored_by_one_of_its_own_gradings(server, cli, tmp_path):
    (tmp_path / "run.csv").write_text(RESPONSES)
    where = (tmp_path / "run.csv", "--dataset", "toy", "--model", "beta", "--metrics", "accuracy", "--json")

    def score(*more):
        answer = json.loads(cli("score", *where, *more, store=server.service.store.url).stdout)
        return answer["rows"][0]["metrics"]["accuracy"]["value"]

    assert score() == pytest.approx(2 / 3) and score("--grading", "second") == 1
    refused = cli("score", *where, "--grading", "third", store=server.service.store.url)
    assert refused.returncode == 2 and "imported, second, graded" in refused.stderr


def drawn(server, body, status=201, token=True):
    headers = server.auth if token else {}
    answer = server.client.post(f"/api/v1/runs/{server.run}/review", data=json.dumps(body).encode(), headers=headers)
    assert answer.status_code == status, answer.json
    return answer.json


def test_answers_are_drawn_for_review(server):
    assert get(server.client, f"/api/v1/runs/{server.run}/review")["size"] == 0
    sample = drawn(server, {"size": 100, "seed": 7})
    assert (sample["seed"], sample["size"], sample["questions"], sample["by"], sample["reviewed"]) == (7, 2, 2, "ann", 0)
    assert {answer["question_id"]: answer["probability"] for answer in sample["answers"]} == {"q1": 0.5, "q2": 1}
    correct(
        server,
        [{"question_id": answer["question_id"], "guess": answer["guess"], "correct": True} for answer in sample["answers"]],
    )
    again = get(server.client, f"/api/v1/runs/{server.run}/review")
    assert again["reviewed"] == 2 and [answer["grade"] for answer in again["answers"]] == [1, 1]
    (run,) = get(server.client, "/api/v1/gradings/reviewed?dataset=toy")["runs"]
    assert (run["drawn"], run["reviewed"], run["means"]) == (2, 2, {}) and "fewer than 40" in run["missing"]
    rows = table(server.client, "/api/v1/gradings/reviewed.csv?dataset=toy")
    assert [row["metric"] for row in rows] == ["accuracy", "net_score", "brier", "overconfidence", "log_score"]
    assert rows[0]["missing"] == run["missing"]
    assert drawn(server, {})["seed"] != drawn(server, {})["seed"]


def test_a_bad_draw_is_refused(server):
    for body in ({"size": 0}, {"size": 20_000}, {"seed": -1}, {"size": "many"}, {"many": 3}, []):
        assert drawn(server, body, 400)["error"]["code"] == "bad_value"
    note = "drawn for review: seed 7, 2 of 2 questions, 1 of 1 answers, probability 1"  # a note cannot pass for a draw
    answer = correct(server, [{"question_id": "q2", "guess": "Nile", "correct": None, "note": note}], 400)
    assert "cannot begin with" in answer["error"]["message"]


def test_a_draw_needs_a_token_and_a_run(server):
    assert drawn(server, {}, 401, token=False)["error"]["code"] == "no_token"
    server.run = "nothing"
    assert drawn(server, {}, 404)["error"]["code"] == "unknown_run"


def test_a_draw_on_the_command_line(server, cli):
    store = server.service.store.url
    answer = cli("grades", server.run, "--review", "5", "--seed", "3", store=store)
    assert answer.returncode == 0 and "2 answers drawn with seed 3" in answer.stdout
    answer = cli("grades", server.run, "--show", "drawn", store=store)
    assert "2 answers drawn at random for review, 0 reviewed" in answer.stdout and "Nile" in answer.stdout
    refused = cli("grades", server.run, "--correct", "q2", "Nile", "right", "--note", "drawn for review: me", store=store)
    assert refused.returncode == 2 and "cannot begin with" in refused.stderr
