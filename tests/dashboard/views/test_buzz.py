"""Buzzing: the page as the server draws it, and the address with its table, its thresholds, and the buzzpoints of a question."""

import csv
import json
from urllib.parse import quote

import pytest

from clueline.dashboard.ui.text import percent
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.queries.buzzing import Rules, buzz, people_median
from clueline.queries.metrics import Conventions
from clueline.queries.selection import Selection
from tests.helpers.drawn_pages import divided, drawn, plain, walk, words
from tests.helpers.json_api import get

PYRAMID = "dataset=pyramid"


@pytest.mark.parametrize(
    ("query", "selection", "rules"),
    [
        (PYRAMID, Selection("pyramid"), Rules(curve="dataset")),
        (f"{PYRAMID}&human=survival&threshold=0.3", Selection("pyramid", conventions=Conventions(human="survival")),
         Rules(curve="dataset", threshold=0.3)),
        (f"{PYRAMID}&category=Arts&elicitation=margin&curve=polynomial",
         Selection("pyramid", category=("Arts",), elicitation=("margin",)), Rules()),
    ],
)  # fmt: skip
def test_the_figures_show_what_the_query_says(app, snapshot, query, selection, rules):
    shown, results = divided(app, "buzz", query).figures, buzz(snapshot, selection, rules)
    runs = results.explorer.runs
    wins = shown["wins"]["data"]
    lines = {trace["meta"]: trace for trace in wins if trace["mode"] == "lines"}
    best = {trace["meta"]: trace for trace in wins if trace["mode"] == "markers"}
    assert list(lines) == list(best) == [run.run for run in runs]
    for run in runs:
        line = lines[run.run]
        assert line["line"]["shape"] == "hv"  # a value holds from its threshold to the next one
        assert line["x"][:-1] == run.curve.thresholds and line["x"][-1] == 1 and line["y"][-1] == 0
        assert line["y"][:-1] == pytest.approx(run.curve.expected_wins, abs=1e-5)
        assert (best[run.run]["x"], best[run.run]["y"]) == ([run.optimum.threshold], [run.optimum.expected_wins])
    dots = {dot["name"]: (dot["xanchor"], dot["yanchor"]) for dot in shown["wins"]["layout"]["shapes"]}
    assert dots == {run.run: (run.outcome.threshold, run.outcome.expected_wins) for run in runs}

    bars = {trace["name"]: trace["x"] for trace in shown["rooms"]["data"]}
    for index, run in enumerate(runs):
        outcome = run.outcome
        assert bars["wins"][index] + bars["unsure"][index] == pytest.approx(outcome.win)
        assert (bars["unsure"][index], bars["loses"][index]) == (outcome.unsure, outcome.loss)
        assert sum(bars[name][index] for name in ("wins", "unsure", "neither", "loses")) == pytest.approx(1)

    curves = {(trace["meta"]["run"], trace["meta"]["kind"]): trace for trace in shown["curves"]["data"]}
    existing = [curve for curve in results.curves.curves if curve.missing is None]
    assert any(curve.name == "Q1" for curve in existing) == (results.curves.teams_p < 0.05)
    assert set(curves) == {(curve.name, kind) for curve in existing for kind in ("correct", "incorrect")}
    for curve in existing:
        for kind, dash in (("correct", "solid"), ("incorrect", "dot")):
            trace = curves[curve.name, kind]
            assert trace["x"] == results.curves.revealed and trace["y"] == pytest.approx(getattr(curve, kind), abs=1e-5)
            assert trace["line"]["dash"] == dash
            assert (trace["line"]["color"] == "var(--ink)") == (curve.kind == "human")

    habits = {trace.get("name"): trace for trace in shown["habits"]["data"]}
    for kind in ("correct", "incorrect"):
        assert habits[f"P(buzz | {kind})"]["x"] == [getattr(run, f"given_{kind}") for run in results.habits.runs]
        people = [getattr(team, f"{kind}_rate") for team in results.habits.teams]
        assert habits[f"People, {kind}: at least"]["x"] == people
    symbols = {habits[f"P(buzz | {kind})"]["marker"]["symbol"] for kind in ("correct", "incorrect")}
    assert len(symbols) == 2  # distinguished by more than colour


def test_figures_have_tables_and_people_no_guesses(app):
    content = drawn(app, "buzz", PYRAMID)
    heads = [words(part) for part in walk(plain(content)) if part.get("type") == "Thead"]
    for columns in (("Expected wins", "Points", "Won"), ("Neither", "People win"), ("by 20%", "by 40%"),
                    ("P(buzz | correct)", "P(buzz | incorrect)")):  # fmt: skip
        assert any(all(column in head for column in columns) for head in heads), columns
    text = words(content)
    assert "what a team would have answered before it buzzed is not recorded" in text
    assert "People, upper half" in text and "≥" in text


def test_a_dataset_without_clues_names_those_that_have_them(app):
    text = words(drawn(app, "buzz", "dataset=lifeeval"))
    assert "read clue by clue" in text and "Pyramid" in text and not divided(app, "buzz", "dataset=lifeeval").figures


def _write(path, header, rows):
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([header, *rows])


def test_many_runs_without_people(fresh, tmp_path):
    crowd = tmp_path / "crowd"
    (crowd / "responses").mkdir(parents=True)
    (crowd / "dataset.json").write_text(json.dumps({"dataset": "crowd", "kind": "incremental"}))
    _write(crowd / "questions.csv", ["question_id", "answer", "text"], [["q", "yes", "Is it? It is."]])
    for run in range(30):
        rows = [["q", clue, "yes", run / 60 + clue / 4, f"model {run}"] for clue in (0, 1)]
        _write(crowd / "responses" / f"{run}.csv", ["question_id", "clue", "guess", "confidence", "model"], rows)
    import_paths(fresh.service.store, [crowd], ImportOptions())
    every, text = divided(fresh.app, "buzz", "dataset=crowd"), words(drawn(fresh.app, "buzz", "dataset=crowd"))
    assert not every.states and "Choose up to 8 runs" in text
    assert set(every.figures) == {"wins", "curves", "habits"} and "no human team heard" in text
    assert every.figures["wins"]["layout"]["shapes"] == []
    run = fresh.service.facets("crowd").runs[3][0]
    for more in ("", "&curve=dataset"):
        assert len(divided(fresh.app, "buzz", f"dataset=crowd&run={run}{more}").states) == 1
    nothing = words(drawn(fresh.app, "buzz", f"dataset=crowd&run={run}&curve=dataset"))
    assert "There are no expected wins to draw: no human team heard any of these questions." in nothing


def test_the_page_shows_shares_before_people(app, snapshot):
    shown = words(drawn(app, "buzz", PYRAMID))
    assert all(text in shown for text in ("Earlier than people, by category", "By 10 words before it"))
    run = people_median(snapshot, Selection("pyramid"), Rules(curve="dataset")).runs[0]
    assert percent(run.earlier.share) in shown
    assert f"[{percent(run.categories[0].earlier.low)}, {percent(run.categories[0].earlier.high)}]" in shown


# -- buzzpoints of one question ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["&category=History&elicitation=margin", "&curve=dataset&human=survival"])
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
