"""The JSON addresses: values by hand, what their keys change, the same digits in every process, and stores without data."""

import json
import shutil
import subprocess
import sys
from typing import get_args

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import VERSION, Settings
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.engine.equivalence import Verdict
from clueline.queries.metrics import METRICS
from tests.helpers.drawn_pages import markup
from tests.helpers.json_api import error, get, table
from tests.helpers.paths import ROOT

API, PYRAMID = "/api/v1/", "dataset=pyramid"
SOME = f"{PYRAMID}&metrics=brier,calscore,auroc"


@pytest.fixture(scope="module")
def runs(client):
    return [row["run"] for row in get(client, f"{API}leaderboard?{PYRAMID}&metrics=brier")["rows"]]


def cell(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_alive_and_ready(client, snapshot):
    assert get(client, "/healthz") == {"status": "ok", "version": VERSION}
    assert get(client, "/readyz") == {"status": "ready", "data_version": snapshot.version}


def test_datasets(client):
    answer = get(client, f"{API}datasets")["datasets"]
    facts = ("dataset", "questions", "runs", "human_teams", "simulated", "votes", "voted", "radii")
    assert [tuple(dataset[fact] for fact in facts) for dataset in answer] == [
        ("pyramid", 60, 8, 12, True, 0, 0, []), ("lifeeval", 808, 5, 0, False, 0, 0, [1, 5, 10, 20]),
        ("tone", 180, 6, 0, True, 180 * 100, 180, []),
    ]  # fmt: skip
    assert [dataset["human_buzzes"] > 0 for dataset in answer] == [True, False, False]
    rows = table(client, f"{API}datasets.csv")
    assert [row["radii"] for row in rows] == ["", "1;5;10;20", ""]


@pytest.mark.parametrize("dataset", ["lifeeval", "pyramid", "tone"])
def test_a_leaderboard_has_all_metrics_and_no_intervals(client, dataset):
    board = get(client, f"{API}leaderboard?dataset={dataset}")
    for row in board["rows"]:
        assert list(row["metrics"]) == [metric.key for metric in METRICS]
        for estimate in row["metrics"].values():
            assert (estimate["value"] is None) == (estimate["missing"] is not None)
            assert estimate["low"] is estimate["high"] is None
    if dataset == "pyramid":  # the first dataset is the default
        assert board == get(client, f"{API}leaderboard") == get(client, f"{API}leaderboard?{PYRAMID}&intervals=0")


def test_metrics_are_chosen(client):
    board = get(client, f"{API}leaderboard?dataset=lifeeval&metrics=ece,brier,ece&metrics=calscore")
    assert [list(row["metrics"]) for row in board["rows"]] == [["ece", "brier", "calscore"]] * 5
    everything = get(client, f"{API}leaderboard?dataset=lifeeval")
    assert board["rows"][0]["metrics"]["ece"] == everything["rows"][0]["metrics"]["ece"]
    states = ["scored", "no_confidence", "unparsed", "abstained", "failed", "answered", "answered_clues", "ranked", "unranked"]
    assert list(table(client, f"{API}leaderboard.csv?metrics=ece")[0])[5:] == [*states, "ece", "ece_rank"]
    asked = get(client, f"{API}leaderboard?{PYRAMID}&metrics=rms_hle,smooth_ece&intervals=1")  # only on request
    assert "rms_hle" not in {key for row in get(client, f"{API}leaderboard?{PYRAMID}")["rows"] for key in row["metrics"]}
    for row in asked["rows"]:
        assert all(0 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 1 for estimate in row["metrics"].values())


def test_intervals_of_the_leaderboard(client):
    board, without = (get(client, f"{API}leaderboard?{PYRAMID}{more}") for more in ("&intervals=1", ""))
    for row, other in zip(board["rows"], without["rows"], strict=True):
        for key, estimate in row["metrics"].items():
            assert (estimate["value"], estimate["rank"]) == (other["metrics"][key]["value"], other["metrics"][key]["rank"])
            if estimate["value"] is not None:
                assert estimate["no_interval"] if estimate["low"] is None else estimate["low"] <= estimate["high"]
            if estimate["rank"] is not None and estimate["low"] is not None:
                assert 1 <= estimate["rank_low"] <= estimate["rank_high"] <= len(board["rows"])
        for key in ("brier", "calscore", "accuracy", "mean_confidence"):  # means, which must lie in their intervals
            assert row["metrics"][key]["low"] < row["metrics"][key]["value"] < row["metrics"][key]["high"]


def test_variants_of_the_ece_have_the_leaderboards_intervals(client):
    answer = get(client, f"{API}which-ece?{PYRAMID}&intervals=1")
    keys = ",".join(variant["key"] for variant in answer["variants"])
    board = get(client, f"{API}leaderboard?{PYRAMID}&intervals=1&metrics={keys}")["rows"]
    for variant in answer["variants"]:
        ends = [(row["run"], row["metrics"][variant["key"]]["low"], row["metrics"][variant["key"]]["high"]) for row in board]
        assert [(error["run"], error["low"], error["high"]) for error in variant["runs"]] == ends
        assert all(low is not None for _, low, _ in ends)
    plainly = get(client, f"{API}which-ece?{PYRAMID}")["variants"]
    assert {(error["low"], error["high"]) for variant in plainly for error in variant["runs"]} == {(None, None)}


def test_a_run_is_not_compared_with_itself(client, runs):
    problem = error(client, f"{API}compare?{PYRAMID}&a={runs[0]}&b={runs[0]}", 400)
    assert (problem["field"], problem["allowed"]) == ("b", runs)


def test_a_margin_compares_runs_on_three_addresses(client, runs):
    two = f"{SOME}&a={runs[3]}&b={runs[0]}"
    board, rows = get(client, f"{API}leaderboard?{SOME}&margin=0.05"), table(client, f"{API}leaderboard.csv?{SOME}&margin=0.05")
    verdicts = {row["metrics"]["brier"]["margin"] and row["metrics"]["brier"]["margin"]["verdict"] for row in board["rows"]}
    assert verdicts > {None} and verdicts <= {None, *get_args(Verdict)}
    for row, board_row in zip(rows, board["rows"], strict=True):
        margin = board_row["metrics"]["brier"]["margin"] or {}
        assert (row["brier_margin_verdict"], row["brier_margin_low"]) == (cell(margin.get("verdict")), cell(margin.get("low")))
    both, (_, *lines) = get(client, f"{API}compare?{two}&margin=0"), table(client, f"{API}compare.csv?{two}&margin=0")
    assert {difference["margin"]["verdict"] for difference in both["metrics"].values()} <= {"different", "undecided"}
    assert all(line["margin_verdict"] in ("different", "undecided") for line in lines)
    wide, none = (get(client, f"{API}power?{two}&margin={margin}")["metrics"] for margin in ("0.05", "0"))
    for some, no in zip(wide, none, strict=True):
        assert (some["margin"], no["margin"], no["needed_equal"], no["needed_different"]) == (0.05, 0, None, None)
        assert some["needed_equal"] >= some["needed_different"]


def test_another_process_gives_the_same_digits(copied, client, runs):
    """Another process with another copy of the store gives the same answers."""
    names = [f"{API}{name}?{SOME}" for name in ("pairs", "agreement", "breakdown", "recalibration")]
    names += [f"{API}reliability?{PYRAMID}", f"{API}leaderboard?{PYRAMID}&intervals=1"]
    names += [f"{API}compare?{SOME}&a={runs[3]}&b={runs[0]}"]
    code = """
import json, sys
from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
client = create_app(Settings(store=sys.argv[1], workers=1)).test_client()
print(json.dumps([client.get(name).text for name in json.loads(sys.argv[2])]))
"""
    command = [sys.executable, "-c", code, str(copied), json.dumps(names)]
    elsewhere = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    assert elsewhere == [client.get(name).text for name in names]


def test_an_empty_store_says_so(tmp_path):
    client = create_app(Settings(store=str(tmp_path / "store"), workers=1)).test_client()
    assert get(client, f"{API}datasets") == {"datasets": []}
    envelope = error(client, f"{API}leaderboard", 404)
    assert envelope["code"] == "empty_store" and "clueline import" in envelope["message"]
    assert client.get("/").status_code == 404 and 'href="/upload"' in markup(client.application, "/")
    assert client.get("/upload").status_code == 200 and 'id="upload"' in markup(client.application, "/upload")
    assert client.get("/datasets").status_code == 200 and "Datasets" in markup(client.application, "/datasets")


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
    assert error(fresh.client, f"{API}leaderboard", 503)["code"] == "store_unavailable"
    ready = fresh.client.get("/readyz")
    assert (ready.status_code, reason in ready.json["error"]["message"]) == (503, True)
    upload = {"data": b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n", "headers": {"Authorization": f"Bearer {token}"}}
    for query in ("dataset=pyramid&model=m", "model=m"):
        assert fresh.client.post(f"{API}runs?{query}", **upload).status_code in (401, 503)
    assert sorted(path.name for path in fresh.store.glob("*")) == left
    assert fresh.client.get("/healthz").status_code == 200
    assert fresh.client.get("/").status_code == 503
