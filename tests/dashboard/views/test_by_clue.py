"""The page By clue: its finding, the run in focus, and the lists behind its marks."""

import re
from urllib.parse import parse_qs

import pytest

from clueline.dashboard.ui.text import percent
from tests.helpers.drawn_pages import as_text, divided, drawn, words

ALL = "/api/v1/by-clue?dataset=pyramid"


@pytest.mark.parametrize("by", ["clue", "revealed"])
def test_the_title_is_the_finding_on_the_worst_run(app, client, by):
    runs = client.get(f"{ALL}&by={by}").json["runs"]
    worst, shown = runs[0], [run for run in runs if run["worst"] and run["worst"]["shown"]]
    at = next(point for point in worst["points"] if point["number"] == worst["worst"]["number"])
    text = words(drawn(app, "by-clue", f"dataset=pyramid&by={by}"))
    assert worst in shown and f"{worst['model']} · {worst['elicitation']} is surer than right before people know" in text
    stated = (
        f"it states {percent(at['mean_confidence'], 0)} and is right {percent(at['accuracy_scored'], 0)} of {at['items']} times"
    )
    assert stated in text and f"people know {percent(at['people'], 0)} by then" in text
    low, high = (f"{100 * worst['worst'][end]:.0f}" for end in ("low", "high"))
    assert f"{100 * at['overconfidence']:.0f} points [{low}, {high}]" in text
    assert f"{len(shown)} of 8 runs {'is' if len(shown) == 1 else 'are'} shown to be" in text


def test_the_run_in_focus_is_drawn_first_and_alone(app, client):
    runs = client.get(ALL).json["runs"]
    last = runs[-1]
    figures = divided(app, "by-clue", f"dataset=pyramid&focus={last['run']}").figures
    drawn_runs = {name: {trace["meta"]["run"] for trace in figure["data"] if "meta" in trace} for name, figure in figures.items()}
    drawn_runs.pop("deferring")
    assert drawn_runs == {"by-clue": {last["run"]}, "by-clue-others": {run["run"] for run in runs[:-1]}}
    assert f"{last['model']} · {last['elicitation']} is" in words(drawn(app, "by-clue", f"dataset=pyramid&focus={last['run']}"))


@pytest.mark.parametrize("by", ["clue", "revealed"])
def test_each_mark_opens_its_answers(app, client, by):
    runs = {run["run"]: run for run in client.get(f"{ALL}&by={by}").json["runs"]}
    for trace in divided(app, "by-clue", f"dataset=pyramid&by={by}").figures["by-clue"]["data"]:
        points = runs[trace["meta"]["run"]]["points"]
        assert len(trace["meta"]["items"]) == len(trace["y"]) == len(points)
        for query, point in zip(trace["meta"]["items"], points, strict=True):
            assert client.get(f"/api/v1/items?dataset=pyramid&{query}").json["total"] == point["items"]
            assert [*parse_qs(query)] == ["focus", "clue" if by == "clue" else "fifth"]


def test_gaps_before_people_know_are_shaded(app, client):
    worst = client.get(ALL).json["runs"][0]
    shapes = divided(app, "by-clue", "dataset=pyramid").figures["by-clue"]["layout"]["shapes"]
    expected = [
        (point["accuracy_scored"], point["mean_confidence"])
        for point in worst["points"]
        if point["mean_confidence"] > point["accuracy_scored"] and point["people"] < 0.5
    ]
    assert [(shape["y0"], shape["y1"]) for shape in shapes] == expected and 0 < len(expected) < len(worst["points"])


def test_filters_apply_and_people_are_named(app, client):
    part = client.get(f"{ALL}&category=History&human=survival").json
    assert part["human"] == "survival" and {run["questions"] for run in part["runs"]} == {10}
    text = words(drawn(app, "by-clue", "dataset=pyramid&human=survival"))
    assert "Aalen-Johansen" in text and "h: teams, survival" in text


def test_csv_has_a_row_for_each_point(client):
    runs = client.get(ALL).json["runs"]
    header, *lines = client.get(ALL.replace("by-clue", "by-clue.csv")).text.splitlines()
    assert len(lines) == sum(len(run["points"]) for run in runs)
    assert {"part", "mean_confidence", "accuracy_scored", "overconfidence_low", "people", "heard"} <= {*header.split(",")}


def test_papers_cite_a_row_for_each_point(client):
    latex = client.get("/api/v1/cite", query_string={"view": "/by-clue?dataset=pyramid&model=BM25"}).json["latex"]
    assert len(re.findall("BM25", latex)) == 12 and "Clue" in latex and "People" in latex


def test_where_questions_have_one_clue_it_says_so(app, client):
    assert "/by-clue" not in as_text(drawn(app, "leaderboard", "dataset=lifeeval"))
    answer = client.get("/api/v1/by-clue?dataset=lifeeval").json
    assert {point["part"] for run in answer["runs"] for point in run["points"]} == {"1"}
    assert {point["people"] for run in answer["runs"] for point in run["points"]} == {None}
    assert "No human team heard these questions" in words(drawn(app, "by-clue", "dataset=lifeeval"))


def test_what_people_would_gain_is_drawn_for_the_run_in_focus(app, client):
    gains = {run["run"]: run for run in client.get("/api/v1/deferring?dataset=pyramid").json["runs"]}
    worst = client.get(ALL).json["runs"][0]["run"]
    lines = {trace.get("name"): trace["y"] for trace in divided(app, "by-clue", "dataset=pyramid").figures["deferring"]["data"]}
    assert lines["People, deferring"] == [share["value"] for share in gains[worst]["deferring"]]
    for name, key in (("People alone", "people"), ("Run alone", "run_alone"), ("Better of both", "oracle")):
        assert lines[name] == [gains[worst][key]["value"]] * 2
    rows = client.get("/api/v1/deferring.csv?dataset=pyramid").text.splitlines()
    assert len(rows) == 1 + 8 * (3 + 20)
