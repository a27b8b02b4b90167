"""The addresses of intervals, comparisons, agreement, reliability, breakdowns and recalibration."""

import json
import subprocess
import sys
from typing import get_args

import pytest

from queries.breakdown import breakdown
from queries.compare import compare, comparisons
from queries.engine.equivalence import Verdict
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, METRICS
from queries.rankings import agreement
from queries.recalibration import recalibration
from queries.reliability import reliability
from queries.selection import Selection
from tests.helpers.json_api import (
    COUNT,
    LEADERBOARD,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    RUN_ROW,
    TEXT,
    Each,
    error,
    get,
    misshapen,
    plain,
    table,
)
from tests.helpers.paths import ROOT

PYRAMID = Selection("pyramid")
FEW = tuple(CATALOGUE[key] for key in ("brier", "calscore", "auroc"))
QUERY = "dataset=pyramid&metrics=brier,calscore,auroc"
RUN = {"run": TEXT, "model": TEXT, "elicitation": TEXT}
ABOUT = {"data_version": TEXT, "selection": Each([TEXT])}
DIFFERENCE = {name: MAYBE_NUMBER for name in ("a", "b", "difference", "low", "high", "p_value", "p_holm", "replicates")}
WORDS = {name: MAYBE_TEXT for name in ("missing", "better", "no_interval")}
PRIMARY = {"primary": TEXT, "other_metrics": COUNT}
COMPARISON = {"a": RUN, "b": RUN, "questions": COUNT, "metrics": Each(DIFFERENCE | WORDS)}
SHAPES = {
    "compare": COMPARISON
    | PRIMARY
    | ABOUT
    | {"pairs": [{"question_id": TEXT, "a": Each(MAYBE_NUMBER), "b": Each(MAYBE_NUMBER)}]},
    "pairs": PRIMARY | ABOUT | {"comparisons": [COMPARISON]},
    "agreement": ABOUT
    | {
        "metrics": [TEXT],
        "left_out": [TEXT],
        "pairs": [{"a": TEXT, "b": TEXT, "tau": MAYBE_NUMBER, "missing": MAYBE_TEXT, "runs": COUNT}],
    },
    "reliability": ABOUT
    | {
        "binning": TEXT,
        "runs": [
            RUN
            | {
                "questions": COUNT,
                "items": COUNT,
                "bins": [
                    {name: MAYBE_NUMBER for name in ("lower", "upper", "mean_confidence", "accuracy", "low", "high")}
                    | {"items": COUNT}
                ],
                "corp": [{"lower": NUMBER, "upper": NUMBER, "calibrated": NUMBER, "items": COUNT, "mean_confidence": NUMBER}],
            }
        ],
    },
    "breakdown": ABOUT | {"by": TEXT, "parts": [{"value": MAYBE_TEXT, "questions": COUNT, "rows": [RUN_ROW]}]},
    "recalibration": ABOUT
    | {
        "method": TEXT,
        "folds": COUNT,
        "runs": [
            RUN
            | {
                "missing": MAYBE_TEXT,
                "metrics": Each({"before": MAYBE_NUMBER, "after": MAYBE_NUMBER, "missing": MAYBE_TEXT}),
                "edges": [NUMBER],
                "changes": [COUNT],
                "improved": COUNT,
                "worsened": COUNT,
                "well_calibrated": COUNT,
                "sacrificed": COUNT,
                "slope": MAYBE_NUMBER,
                "intercept": MAYBE_NUMBER,
                "losers": [{"question_id": TEXT, "clue": COUNT, "correct": NUMBER, "before": NUMBER, "after": NUMBER}],
            }
        ],
    },
}
PLAINLY = {"reliability": "dataset=pyramid", "breakdown": f"{QUERY}&by=difficulty", "recalibration": f"{QUERY}&method=platt"}


@pytest.fixture(scope="module")
def runs(client):
    return [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=pyramid&metrics=brier")["rows"]]


@pytest.fixture(scope="module")
def address(runs):
    def address_of(name, suffix=""):
        both = f"&a={runs[3]}&b={runs[0]}" if name == "compare" else ""
        return f"/api/v1/{name}{suffix}?{PLAINLY.get(name, QUERY)}{both}"

    return address_of


@pytest.fixture(scope="module")
def computed(snapshot, runs):
    """What each address should return."""
    return {
        "compare": lambda: compare(snapshot, PYRAMID, runs[3], runs[0], FEW),
        "pairs": lambda: comparisons(snapshot, PYRAMID, None, FEW),
        "agreement": lambda: agreement(snapshot, PYRAMID, FEW),
        "reliability": lambda: reliability(snapshot, PYRAMID),
        "breakdown": lambda: breakdown(snapshot, PYRAMID, "difficulty", FEW),
        "recalibration": lambda: recalibration(snapshot, PYRAMID, "platt", FEW),
    }


@pytest.mark.parametrize("name", SHAPES)
def test_an_address_has_its_shape_and_the_querys_results(client, snapshot, address, computed, name):
    answer = get(client, address(name))
    assert not misshapen(answer, SHAPES[name])
    assert (answer["data_version"], answer["selection"]) == (snapshot.version, {"dataset": ["pyramid"]})
    assert answer == plain(computed[name]())


def cell(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def flat(name, answer):
    """Return the rows of an answer as its CSV should have them."""
    if name in ("compare", "pairs"):
        return [
            {"a": pair["a"]["run"], "b": pair["b"]["run"], "questions": pair["questions"], "metric": key,
             "value_a": cell["a"], "value_b": cell["b"],
             **{name: value for name, value in cell.items() if name not in ("a", "b", "margin")}}
            for pair in ([answer] if name == "compare" else answer["comparisons"]) for key, cell in pair["metrics"].items()
        ]  # fmt: skip
    if name == "agreement":
        return answer["pairs"]
    if name == "reliability":
        reason = {run["run"]: {"no_interval": run["no_interval"]} for run in answer["runs"]}
        return [{key: run[key] for key in RUN} | bin_ | reason[run["run"]] for run in answer["runs"] for bin_ in run["bins"]]
    if name == "breakdown":
        return [
            {"difficulty": part["value"], **{key: row[key] for key in RUN}, "metric": key, "value": cell["value"],
             "rank": cell["rank"]}
            for part in answer["parts"] for row in part["rows"] for key, cell in row["metrics"].items()
        ]  # fmt: skip
    return [
        {**{key: run[key] for key in RUN}, "method": "platt", "metric": key, **cell}
        for run in answer["runs"] for key, cell in run["metrics"].items()
    ]  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_csv_has_the_same_numbers(client, address, name):
    rows, expected = table(client, address(name, ".csv")), flat(name, get(client, address(name)))
    assert len(expected) > 2
    assert rows == [{key: cell(value) for key, value in row.items()} for row in expected]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("suffix", ["", ".csv"])
def test_an_unknown_key_or_value_is_named(client, address, name, suffix):
    for extra, field in (
        ("colour=red", "colour"), ("binning=width7", "binning"), ("category=Cookery", "category"), ("human=all", "human"),
        ("run=0123", "run"),
    ):  # fmt: skip
        assert error(client, f"{address(name, suffix)}&{extra}", 400)["field"] == field


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("leaderboard?intervals=2", "intervals", "unknown_value"),
        ("leaderboard?intervals=1&intervals=1", "intervals", "repeated_key"),
        ("compare?dataset=pyramid", "a", "missing_key"),
        ("compare?dataset=pyramid&a=x", "b", "missing_key"),
        ("compare?dataset=pyramid&a=x&b=y", "a", "unknown_value"),
        ("compare?dataset=pyramid&a=x&a=x&b=y", "a", "repeated_key"),
        ("compare.csv?dataset=pyramid", "a", "missing_key"),
        ("pairs?dataset=pyramid&a=x", "a", "unknown_value"),
        ("pairs?dataset=pyramid&b=x", "b", "unknown_key"),
        ("pairs?metrics=beauty", "metrics", "unknown_value"),
        ("agreement?metrics=brier,beauty", "metrics", "unknown_value"),
        ("agreement?intervals=1", "intervals", "unknown_key"),
        ("reliability?metrics=brier", "metrics", "unknown_key"),
        ("breakdown?by=colour", "by", "unknown_value"),
        ("breakdown?intervals=yes", "intervals", "unknown_value"),
        ("breakdown?metrics=beauty", "metrics", "unknown_value"),
        ("recalibration?method=beta", "method", "unknown_value"),
        ("recalibration?metrics=beauty", "metrics", "unknown_value"),
        ("recalibration.csv?method=platt&method=platt", "method", "repeated_key"),
    ],
)
def test_keys_of_an_address_are_checked(client, query, field, code):
    problem = error(client, f"/api/v1/{query}", 400)
    assert (problem["field"], problem["code"]) == (field, code)
    if code == "unknown_value":
        assert problem["allowed"]


def test_a_run_is_not_compared_with_itself(client, runs):
    problem = error(client, f"/api/v1/compare?dataset=pyramid&a={runs[0]}&b={runs[0]}", 400)
    assert (problem["field"], problem["allowed"]) == ("b", runs)


def test_leaderboard_with_intervals(client, snapshot):
    board = get(client, "/api/v1/leaderboard?dataset=pyramid&intervals=1")
    assert not misshapen(board, LEADERBOARD)
    assert board == plain(leaderboard(snapshot, PYRAMID, METRICS, True))
    without = get(client, "/api/v1/leaderboard?dataset=pyramid&intervals=0")
    assert without == get(client, "/api/v1/leaderboard?dataset=pyramid")
    for row, other in zip(board["rows"], without["rows"], strict=True):
        for key, cell in row["metrics"].items():
            assert (cell["value"], cell["rank"]) == (other["metrics"][key]["value"], other["metrics"][key]["rank"])
            if cell["value"] is not None:
                assert cell["low"] <= cell["high"]
            if cell["rank"] is not None and cell["low"] is not None:
                assert 1 <= cell["rank_low"] <= cell["rank_high"] <= len(board["rows"])
    # These metrics estimate a mean, which must lie in its interval.
    for row in board["rows"]:
        for key in ("brier", "calscore", "accuracy", "mean_confidence"):
            assert row["metrics"][key]["low"] < row["metrics"][key]["value"] < row["metrics"][key]["high"]


def test_leaderboard_with_intervals_as_csv(client):
    board_rows = get(client, f"/api/v1/leaderboard?{QUERY}&intervals=1")["rows"]
    rows = table(client, f"/api/v1/leaderboard.csv?{QUERY}&intervals=1")
    parts = ("low", "high", "rank", "rank_low", "rank_high", "may_be_best")
    assert [*rows[0]][13:] == [
        f"{key}{part}" for key in ("brier", "calscore", "auroc") for part in ("", *(f"_{p}" for p in parts))
    ]
    for row, board_row in zip(rows, board_rows, strict=True):
        for key, estimate in board_row["metrics"].items():
            assert [row[key], *(row[f"{key}_{part}"] for part in parts)] == [cell(estimate[part]) for part in ("value", *parts)]


def test_a_margin_compares_runs_on_three_addresses(client, address):
    board = get(client, f"/api/v1/leaderboard?{QUERY}&margin=0.05")
    rows = table(client, f"/api/v1/leaderboard.csv?{QUERY}&margin=0.05")
    verdicts = {row["metrics"]["brier"]["margin"] and row["metrics"]["brier"]["margin"]["verdict"] for row in board["rows"]}
    assert verdicts > {None} and verdicts <= {None, *get_args(Verdict)}
    for row, board_row in zip(rows, board["rows"], strict=True):
        margin = board_row["metrics"]["brier"]["margin"] or {}
        assert (row["brier_margin_verdict"], row["brier_margin_low"]) == (cell(margin.get("verdict")), cell(margin.get("low")))
    both, (_, *lines) = get(client, f"{address('compare')}&margin=0"), table(client, f"{address('compare', '.csv')}&margin=0")
    assert {difference["margin"]["verdict"] for difference in both["metrics"].values()} <= {"different", "undecided"}
    assert all(line["margin_verdict"] in ("different", "undecided") for line in lines)
    power = f"/api/v1/power?{address('compare').partition('?')[2]}&margin="
    for wide, none in zip(get(client, f"{power}0.05")["metrics"], get(client, f"{power}0")["metrics"], strict=True):
        assert (wide["margin"], none["margin"], none["needed_equal"], none["needed_different"]) == (0.05, 0, None, None)
        assert wide["needed_equal"] >= wide["needed_different"]
    for bad in ("-1", "two", "nan", "1e7", ""):
        assert error(client, f"{address('compare')}&margin={bad}", 400)["field"] == "margin"


def test_breakdown_takes_the_attribute_to_divide_by(client, snapshot):
    assert get(client, f"/api/v1/breakdown?{QUERY}") == plain(breakdown(snapshot, PYRAMID, "category", FEW))
    answer = get(client, "/api/v1/breakdown?dataset=lifeeval&by=radius&metrics=overconfidence&intervals=1")
    assert [part["value"] for part in answer["parts"]] == ["1", "5", "10", "20"]
    assert [part["questions"] for part in answer["parts"]] == [202] * 4
    assert all(row["metrics"]["overconfidence"]["low"] is not None for part in answer["parts"] for row in part["rows"])
    (row, *_) = table(client, "/api/v1/breakdown.csv?dataset=lifeeval&by=radius&metrics=overconfidence&intervals=1")
    assert [*row] == ["radius", *RUN, "metric", "value", "low", "high", "rank", "rank_low", "rank_high", "may_be_best"]


def test_without_a_method_recalibration_is_by_temperature(client):
    assert get(client, f"/api/v1/recalibration?{QUERY}")["method"] == "temperature"
    temperature, isotonic = (get(client, f"/api/v1/recalibration?{QUERY}&method={m}") for m in ("temperature", "isotonic"))
    assert temperature["runs"] != isotonic["runs"]


def test_one_run_against_every_other(client, runs):
    pairs = get(client, f"/api/v1/pairs?{QUERY}&a={runs[2]}")["comparisons"]
    assert [(comparison["a"]["run"], comparison["b"]["run"]) for comparison in pairs] == [
        (runs[2], run) for run in runs if run != runs[2]
    ]


def test_another_process_gives_the_same_digits(copied, client, address):
    """Another process with another copy of the store gives the same answers."""
    names = [address(name) for name in SHAPES] + ["/api/v1/leaderboard?dataset=pyramid&intervals=1"]
    code = """
import json, sys
from dashboard.app import create_app
from dashboard.settings import Settings
client = create_app(Settings(store=sys.argv[1], workers=1)).test_client()
print(json.dumps([client.get(name).text for name in json.loads(sys.argv[2])]))
"""
    command = [sys.executable, "-c", code, str(copied), json.dumps(names)]
    elsewhere = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    assert elsewhere == [client.get(name).text for name in names]
