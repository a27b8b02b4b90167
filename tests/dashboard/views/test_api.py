"""The JSON addresses: their documented shapes, their errors, and that their numbers are those of the queries."""

import math
import shutil
from urllib.parse import quote

import pytest

from dashboard.settings import VERSION
from data.store.register import FolderRegister
from data.store.tokens_and_readers import Tokens
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Conventions
from queries.question import question
from queries.selection import Selection, dataset_conventions
from queries.selection.view_parameters_base import key_forms, split_key
from tests.helpers.json_api import (
    BAD_VALUES,
    COUNT,
    FLAG,
    LEADERBOARD,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    Each,
    error,
    get,
    misshapen,
    plain,
    table,
)
from tests.helpers.question_pages import questions

KEYS = Selection.kinds()
SINGLE = [key for key, kind in KEYS.items() if not kind.repeatable]
DATASETS = {
    "datasets": [{
        "dataset": TEXT, "title": TEXT, "kind": TEXT, "simulated": FLAG, "questions": COUNT, "runs": COUNT, "human_teams": COUNT,
        "human_buzzes": COUNT, "votes": COUNT, "voted": COUNT,
        "categories": [TEXT], "radii": [COUNT], "licence": MAYBE_TEXT, "source": MAYBE_TEXT,
    }]
}  # fmt: skip
QUESTIONS = {
    "questions": [{
        "question_id": TEXT, "text": MAYBE_TEXT, "category": MAYBE_TEXT, "difficulty": MAYBE_NUMBER,
        "runs": Each(Each(MAYBE_NUMBER)),
    }],
    "next": MAYBE_TEXT, "total": COUNT,
}  # fmt: skip
HUMAN = {
    "teams": COUNT, "buzz_share": [MAYBE_NUMBER], "release_share": [MAYBE_NUMBER],
    "team_share": [MAYBE_NUMBER], "survival": [MAYBE_NUMBER],
    "buzzes": [{"clue": COUNT, "word": COUNT, "correct": FLAG, "team": TEXT}],
}  # fmt: skip
QUESTION = {
    "dataset": TEXT, "question_id": TEXT, "text": MAYBE_TEXT, "answer": MAYBE_TEXT, "category": MAYBE_TEXT,
    "subcategory": MAYBE_TEXT, "difficulty": MAYBE_NUMBER,
    "clues": [{"clue": COUNT, "text": MAYBE_TEXT, "word_end": COUNT, "char_end": COUNT}],
    "model_buzzes": [{"clue": COUNT, "word": COUNT, "correct": FLAG, "team": TEXT}],
    "runs": [{
        "run": TEXT, "model": TEXT, "elicitation": TEXT, "metrics": Each(MAYBE_NUMBER),
        "clues": [{
            "clue": COUNT, "guess": MAYBE_TEXT, "correct": NUMBER, "confidence": NUMBER, "buzz_mass": NUMBER,
            "contribution": MAYBE_NUMBER,
        }],
    }],
}  # fmt: skip


def logistic(x):
    return 1 / (1 + math.exp(-x))


def test_alive_and_ready(client, snapshot):
    assert get(client, "/healthz") == {"status": "ok", "version": VERSION}
    assert get(client, "/readyz") == {"status": "ready", "data_version": snapshot.version}


def test_datasets(client):
    answer = get(client, "/api/v1/datasets")
    assert not misshapen(answer, DATASETS)
    assert [dataset["dataset"] for dataset in answer["datasets"]] == ["pyramid", "lifeeval", "tone"]
    pyramid, lifeeval, tone = answer["datasets"]
    assert (lifeeval["questions"], lifeeval["runs"], lifeeval["human_teams"], lifeeval["simulated"]) == (808, 5, 0, False)
    assert lifeeval["radii"] == [1, 5, 10, 20]
    assert (pyramid["questions"], pyramid["runs"], pyramid["human_teams"], pyramid["simulated"]) == (60, 8, 12, True)
    assert (tone["questions"], tone["runs"], tone["human_teams"], tone["simulated"]) == (180, 6, 0, True)
    assert [(dataset["votes"], dataset["voted"]) for dataset in answer["datasets"]] == [(0, 0), (0, 0), (180 * 100, 180)]
    assert [dataset["human_buzzes"] > 0 for dataset in answer["datasets"]] == [True, False, False]


def test_datasets_as_csv(client):
    rows = table(client, "/api/v1/datasets.csv")
    datasets = get(client, "/api/v1/datasets")["datasets"]
    assert [row["dataset"] for row in rows] == [dataset["dataset"] for dataset in datasets]
    assert rows[1]["radii"] == "1;5;10;20"
    assert [int(row["questions"]) for row in rows] == [dataset["questions"] for dataset in datasets]


@pytest.mark.parametrize("dataset", ["lifeeval", "pyramid", "tone"])
def test_leaderboard_has_its_shape(client, snapshot, dataset):
    board = get(client, f"/api/v1/leaderboard?dataset={dataset}")
    assert not misshapen(board, LEADERBOARD)
    assert board["data_version"] == snapshot.version
    assert board["selection"] == {"dataset": [dataset]}
    for row in board["rows"]:
        assert list(row["metrics"]) == [metric.key for metric in METRICS]
        for cell in row["metrics"].values():
            assert (cell["value"] is None) == (cell["missing"] is not None)
            assert cell["low"] is cell["high"] is None


def test_the_first_dataset_is_the_default(client):
    assert get(client, "/api/v1/leaderboard") == get(client, "/api/v1/leaderboard?dataset=pyramid")


SELECTIONS = {
    "": Selection("pyramid"),
    "dataset=lifeeval": Selection("lifeeval"),
    "dataset=pyramid": Selection("pyramid"),
    "dataset=pyramid&category=History&category=Arts&elicitation=softmax": Selection(
        "pyramid", category=("History", "Arts"), elicitation=("softmax",)
    ),
    "dataset=pyramid&difficulty=0.5..0.7&revealed=0..0.5": Selection("pyramid", difficulty=(0.5, 0.7), revealed=(0.0, 0.5)),
    "dataset=pyramid&human=survival&binning=mass15&beta=2": Selection(
        "pyramid", conventions=Conventions("mass15", "survival", 2.0)
    ),
    "dataset=lifeeval&radius=5&radius=20&q=woman": Selection("lifeeval", radius=(5, 20), q="woman"),
    "dataset=pyramid&q=zzzz": Selection("pyramid", q="zzzz"),
}


@pytest.mark.parametrize("query", SELECTIONS)
def test_the_leaderboard_is_that_of_the_query(client, snapshot, query):
    answer = get(client, f"/api/v1/leaderboard?{query}")
    assert answer == plain(leaderboard(snapshot, SELECTIONS[query], METRICS))


@pytest.mark.parametrize("query", SELECTIONS)
def test_leaderboard_as_csv_has_the_same_numbers(client, query):
    board_rows = get(client, f"/api/v1/leaderboard?{query}")["rows"]
    rows = table(client, f"/api/v1/leaderboard.csv?{query}")
    assert [row["run"] for row in rows] == [row["run"] for row in board_rows]
    for row, board_row in zip(rows, board_rows, strict=True):
        for key, cell in board_row["metrics"].items():
            assert row[key] == ("" if cell["value"] is None else repr(cell["value"]))
            assert row[f"{key}_rank"] == ("" if cell["rank"] is None else repr(cell["rank"]))


def test_metrics_are_chosen(client):
    board = get(client, "/api/v1/leaderboard?dataset=lifeeval&metrics=ece,brier,ece&metrics=calscore")
    assert [list(row["metrics"]) for row in board["rows"]] == [["ece", "brier", "calscore"]] * 5
    everything = get(client, "/api/v1/leaderboard?dataset=lifeeval")
    assert board["rows"][0]["metrics"]["ece"] == everything["rows"][0]["metrics"]["ece"]
    assert list(table(client, "/api/v1/leaderboard.csv?metrics=ece")[0])[5:] == [
        "no_confidence",
        "unparsed",
        "abstained",
        "failed",
        "answered",
        "answered_clues",
        "ranked",
        "unranked",
        "ece",
        "ece_rank",
    ]


def test_questions(client, snapshot):
    answer = get(client, "/api/v1/questions?dataset=pyramid")
    assert not misshapen(answer, QUESTIONS)
    assert answer["total"] == len(answer["questions"]) == 60 and answer["next"] is None
    assert answer == plain(questions(snapshot, Selection("pyramid"), (CATALOGUE["brier"],)))
    assert {tuple(values) for question in answer["questions"] for values in question["runs"].values()} == {("brier",)}


def test_questions_come_a_page_at_a_time(client):
    run = get(client, "/api/v1/leaderboard?dataset=pyramid")["rows"][0]["run"]
    whole = get(client, f"/api/v1/questions?dataset=pyramid&sort=-calscore:{run}&metrics=calscore,brier")["questions"]
    paged, cursor = [], ""
    while cursor is not None:
        page = get(client, f"/api/v1/questions?dataset=pyramid&sort=-calscore:{run}&metrics=calscore,brier&limit=7{cursor}")
        paged += page["questions"]
        assert len(page["questions"]) == 7 or page["next"] is None
        cursor = page["next"] and f"&cursor={page['next']}"
    assert paged == whole
    values = [question["runs"][run]["calscore"] for question in paged]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(("dataset", "name"), [("pyramid", "lit-01"), ("lifeeval", "5")])
def test_question(client, snapshot, dataset, name):
    answer = get(client, f"/api/v1/questions/{dataset}/{name}")
    assert not misshapen(answer, QUESTION)
    without = {"runs": [run | {"buzzpoint": None} for run in answer["runs"]]}  # which api/test_buzz.py checks
    selection = Selection(dataset)
    selection = selection.replace(conventions=dataset_conventions(snapshot, selection))
    assert answer | without == plain(question(snapshot, selection, name))
    if dataset == "pyramid":
        assert not misshapen(answer["human"], HUMAN)
        clues = len(answer["clues"])
        assert {len(answer["human"][curve]) for curve in HUMAN_CURVES} == {clues}
        for run in answer["runs"]:
            # The clues' contributions add up to the mean inside CalScore.
            total = sum(answer["contribution"] for answer in run["clues"])
            scaled = (logistic(total) - logistic(-1)) / (logistic(1) - logistic(-1))
            assert run["metrics"]["calscore"] == pytest.approx(1 - scaled)
    else:
        assert answer["human"] is None


def test_a_question_takes_runs_and_conventions(client):
    plainly = get(client, "/api/v1/questions/pyramid/lit-01")
    run = plainly["runs"][3]["run"]
    answer = get(client, f"/api/v1/questions/pyramid/lit-01?run={run}&human=survival&category=History")
    assert [run["run"] for run in answer["runs"]] == [run]
    assert answer["runs"][0]["clues"] != plainly["runs"][3]["clues"]  # the contributions differ because the human curve does
    assert answer["clues"] == plainly["clues"]


ADDRESSES = ("/api/v1/leaderboard", "/api/v1/leaderboard.csv", "/api/v1/questions", "/api/v1/questions/pyramid/lit-01")


def test_bad_values_cover_every_key():
    assert {split_key(key)[0] for key, *_ in BAD_VALUES} == set(KEYS)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(("key", "value", "code", "allowed"), BAD_VALUES)
def test_a_bad_value_is_named(client, address, key, value, code, allowed):
    problem = error(client, f"{address}?{'' if key == 'dataset' else 'dataset=pyramid&'}{key}={quote(value)}", 400)
    assert (problem["code"], problem["field"]) == (code, key)
    if address.endswith("lit-01") and key == "dataset":
        allowed = ["pyramid"]
    if allowed is not None:
        assert problem["allowed"] == allowed


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_unknown_key_is_named(client, address):
    problem = error(client, f"{address}?dataset=pyramid&colour=red", 400)
    assert (problem["code"], problem["field"]) == ("unknown_key", "colour")
    assert set(key_forms(KEYS)) <= set(problem["allowed"])


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("key", SINGLE)
def test_a_key_that_is_given_twice_is_named(client, address, key):
    problem = error(client, f"{address}?{key}=x&{key}=y", 400)
    assert (problem["code"], problem["field"]) == ("repeated_key", key)


@pytest.mark.parametrize(
    ("address", "field", "status"),
    [
        ("/api/v1/leaderboard?metrics=beauty", "metrics", 400),
        ("/api/v1/leaderboard?metrics=brier,", "metrics", 400),
        ("/api/v1/leaderboard?intervals=yes", "intervals", 400),
        ("/api/v1/leaderboard?sort=brier", "sort", 400),
        ("/api/v1/questions?metrics=beauty", "metrics", 400),
        ("/api/v1/questions?sort=beauty", "sort", 400),
        ("/api/v1/questions?sort=brier:nobody", "sort", 400),
        ("/api/v1/questions?sort=text&sort=position", "sort", 400),
        ("/api/v1/questions?limit=0", "limit", 400),
        ("/api/v1/questions?limit=1001", "limit", 400),
        ("/api/v1/questions?limit=ten", "limit", 400),
        ("/api/v1/questions?limit=-1", "limit", 400),
        ("/api/v1/questions?cursor=x", "cursor", 400),
        ("/api/v1/datasets?dataset=pyramid", "dataset", 400),
        ("/api/v1/datasets.csv?x=1", "x", 400),
        ("/api/v1/questions/pyramid/lit-99", "question_id", 404),
        ("/api/v1/questions/nowhere/lit-01", "dataset", 404),
        ("/api/v1/questions/pyramid/lit-01?metrics=brier", "metrics", 400),
    ],
)
def test_keys_of_single_addresses_are_checked(client, address, field, status):
    assert error(client, address, status)["field"] == field


@pytest.mark.parametrize(
    "address", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/datasets", "/api/v1/nothing", "/api/v1/datasets/"]
)
def test_unknown_addresses_below_api_are_not_found(client, address):
    problem = error(client, address, 404)
    assert "/api/v1/leaderboard" in problem["allowed"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_other_methods_get_the_error_envelope(client, method, address):
    answer = getattr(client, method)(address)
    assert answer.status_code in (404, 405)
    assert answer.mimetype == "application/json"
    assert method.upper() in answer.json["error"]["message"]


def test_an_empty_store_says_so(tmp_path, cli):
    from dashboard.app import create_app
    from dashboard.settings import Settings

    client = create_app(Settings(store=str(tmp_path / "store"), workers=1)).test_client()
    assert get(client, "/api/v1/datasets") == {"datasets": []}
    envelope = error(client, "/api/v1/leaderboard", 404)
    assert envelope["code"] == "empty_store" and "python -m dashboard import" in envelope["message"]
    assert client.get("/").status_code == 404


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda store: (store / "CURRENT").write_text("nonsense"), "CURRENT does not name a version"),
        (lambda store: (store / "CURRENT").unlink(), "CURRENT, which names the version in force, is gone"),
        (shutil.rmtree, "its folder is gone"),
    ],
    ids=["nonsense", "no pointer", "no folder"],
)
def test_a_damaged_store_is_unavailable_and_left_as_it_is(fresh, damage, reason):
    token = Tokens(FolderRegister(fresh.store)).create("lab")
    damage(fresh.store)
    left = sorted(path.name for path in fresh.store.glob("*"))
    assert error(fresh.client, "/api/v1/leaderboard", 503)["code"] == "store_unavailable"
    ready = fresh.client.get("/readyz")
    assert (ready.status_code, reason in ready.json["error"]["message"]) == (503, True)
    upload = {"data": b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n", "headers": {"Authorization": f"Bearer {token}"}}
    assert fresh.client.post("/api/v1/runs?dataset=pyramid&model=m", **upload).status_code in (401, 503)
    assert fresh.client.post("/api/v1/runs?model=m", **upload).status_code in (401, 503)
    assert sorted(path.name for path in fresh.store.glob("*")) == left
    assert fresh.client.get("/healthz").status_code == 200
    assert fresh.client.get("/").status_code == 503
