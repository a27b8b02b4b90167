"""``/api/v1/buzz``: its answer is that of the query, and its keys are checked."""

from urllib.parse import quote

import pytest

from queries.buzzing import Rules, buzz, people_median
from queries.metrics import Conventions
from queries.selection import Selection
from queries.selection.view_parameters_base import key_forms
from tests.helpers.json_api import BAD_VALUES, error, get, plain, table

ADDRESSES = ("/api/v1/buzz", "/api/v1/buzz.csv")
PYRAMID = Selection("pyramid")
ASKED = {
    "dataset=pyramid": (PYRAMID, Rules(curve="dataset")),
    "dataset=pyramid&curve=polynomial": (PYRAMID, Rules()),
    "dataset=pyramid&threshold=0.5&curve=dataset&human=survival": (
        Selection("pyramid", conventions=Conventions(human="survival")),
        Rules(curve="dataset", threshold=0.5),
    ),
    "dataset=pyramid&category=Arts&revealed=0..0.5&elicitation=margin&scale=confidence&curve=polynomial": (
        Selection("pyramid", category=("Arts",), revealed=(0.0, 0.5), elicitation=("margin",)),
        Rules(),
    ),
    "dataset=pyramid&scale=logprob&threshold=-0.03": (PYRAMID, Rules("logprob", "dataset", threshold=-0.03)),
    "dataset=lifeeval": (Selection("lifeeval"), Rules()),
}


@pytest.mark.parametrize("query", ASKED)
def test_the_answer_is_that_of_the_query(client, snapshot, query):
    answer = get(client, f"/api/v1/buzz?{query}")
    assert answer == plain(buzz(snapshot, *ASKED[query]))
    assert (answer["missing"] is None) == ("pyramid" in query)
    assert answer == get(client, f"/api/v1/buzz?{query}")  # now from the cache


@pytest.mark.parametrize("query", ASKED)
def test_the_table_has_the_same_numbers(client, query):
    answer = get(client, f"/api/v1/buzz?{query}")
    rows = table(client, f"/api/v1/buzz.csv?{query}")
    runs = answer["explorer"]["runs"]
    assert [row["run"] for row in rows] == [run["run"] for run in runs]
    for row, run, habit in zip(rows, runs, answer["habits"]["runs"], strict=True):
        shown = run["outcome"] | {name: habit[name] for name in ("given_correct", "given_incorrect", "buzz_rate", "survey_score")}
        optimum = run["optimum"] or {}
        shown |= {"optimum": optimum.get("threshold"), "optimum_expected_wins": optimum.get("expected_wins")}
        shown |= {name: run[name] for name in ("model", "elicitation", "questions", "heard", "items", "unscored")}
        for name, value in shown.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            assert row[name] == ("" if value is None else text), name
        assert all(reason in row["missing"] for reason in (run["missing"] | habit["missing"]).values())
        assert (row["scale"], row["curve"]) == (answer["explorer"]["scale"], answer["explorer"]["curve"])


@pytest.mark.parametrize("query", ASKED)
def test_shares_before_people_as_json_and_table(client, snapshot, query):
    answer = get(client, f"/api/v1/buzz/median?{query}")
    assert answer == plain(people_median(snapshot, *ASKED[query]))
    rows = table(client, f"/api/v1/buzz/median.csv?{query}")
    shares = [
        share
        for run in answer["runs"]
        for share in [run["earlier"], *run["within"], *(part["earlier"] for part in run["categories"])]
    ]
    names = ("share", "low", "high", "no_interval")
    shown = [[row[name] for name in names] for row in rows]
    cells = [[(share or {}).get(name) for name in names] for share in shares]
    assert shown == [["" if cell is None else str(cell) for cell in row] for row in cells]


def test_a_threshold_per_run(client):
    runs = [run["run"] for run in get(client, "/api/v1/buzz?dataset=pyramid")["explorer"]["runs"]]
    query = f"dataset=pyramid&threshold=0.5&threshold={runs[2]}:0.25&threshold={runs[0]}:1"
    used = {run["run"]: run["outcome"]["threshold"] for run in get(client, f"/api/v1/buzz?{query}")["explorer"]["runs"]}
    assert used == dict.fromkeys(runs, 0.5) | {runs[2]: 0.25, runs[0]: 1}


def test_no_threshold_beats_the_optimum(client):
    best = {run["run"]: run["optimum"] for run in get(client, "/api/v1/buzz?dataset=pyramid")["explorer"]["runs"]}
    for tau in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1):
        for run in get(client, f"/api/v1/buzz?dataset=pyramid&threshold={tau}")["explorer"]["runs"]:
            assert run["outcome"]["expected_wins"] <= best[run["run"]]["expected_wins"] + 1e-12


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(("key", "value", "code", "allowed"), BAD_VALUES)
def test_a_bad_value_is_named(client, address, key, value, code, allowed):
    problem = error(client, f"{address}?{'' if key == 'dataset' else 'dataset=pyramid&'}{key}={quote(value)}", 400)
    assert (problem["code"], problem["field"]) == (code, key)
    assert allowed is None or problem["allowed"] == allowed


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("query", "code", "field", "allowed"),
    [
        ("threshold=2", "bad_value", "threshold", []),
        ("threshold=half", "bad_value", "threshold", []),
        ("threshold=0.1&threshold=0.2", "repeated_key", "threshold", []),
        ("threshold=nobody:0.1", "unknown_value", "threshold", None),
        ("threshold=0.5&scale=logprob", "bad_value", "threshold", []),
        ("scale=percent", "unknown_value", "scale", ["confidence", "logprob"]),
        ("curve=people", "unknown_value", "curve", ["polynomial", "dataset"]),
        ("curve=dataset&curve=dataset", "repeated_key", "curve", []),
        ("metrics=brier", "unknown_key", "metrics", sorted({*key_forms(Selection.kinds()), "threshold", "scale", "curve"})),
    ],
)
def test_its_own_keys_are_checked(client, address, query, code, field, allowed):
    problem = error(client, f"{address}?dataset=pyramid&{query}", 400)
    assert (problem["code"], problem["field"]) == (code, field)
    assert allowed is None or problem["allowed"] == allowed


# -- buzzpoints of one question ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "&category=History", "&curve=dataset&human=survival", "&elicitation=margin"])
def test_a_question_has_the_thresholds_of_the_same_selection(client, query):
    used = {
        run["run"]: run["outcome"]["threshold"] for run in get(client, f"/api/v1/buzz?dataset=pyramid{query}")["explorer"]["runs"]
    }
    question = get(client, f"/api/v1/questions/pyramid/lit-08?{query.removeprefix('&')}")
    assert {run["run"]: run["buzzpoint"]["threshold"] for run in question["runs"]} == used
    for run in question["runs"]:
        above = [clue["clue"] for clue in run["clues"] if clue["confidence"] > used[run["run"]]]
        assert run["buzzpoint"]["clue"] == (above[0] if above else None)
        assert run["buzzpoint"]["best"]


def test_a_question_takes_thresholds(client):
    run, other = [run["run"] for run in get(client, "/api/v1/questions/pyramid/lit-08")["runs"]][:2]
    question = get(client, f"/api/v1/questions/pyramid/lit-08?threshold=0.5&threshold={quote(run)}:0.9")
    points = {run["run"]: run["buzzpoint"] for run in question["runs"]}
    assert (points[run]["threshold"], points[other]["threshold"], points[run]["best"]) == (0.9, 0.5, False)
    assert {run["buzzpoint"] for run in get(client, "/api/v1/questions/lifeeval/5?threshold=0.5")["runs"]} == {None}


def test_a_question_refuses_bad_thresholds(client):
    for query in ("threshold=2", "threshold=nobody:0.5", "scale=percent", "curve=steep"):
        assert error(client, f"/api/v1/questions/pyramid/lit-08?{query}", 400)["field"] == query.partition("=")[0]
