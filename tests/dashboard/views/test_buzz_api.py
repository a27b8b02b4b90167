"""``/api/v1/buzz``: its table, its thresholds, and the buzzpoints of a question."""

from urllib.parse import quote

import pytest

from tests.helpers.json_api import get


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
