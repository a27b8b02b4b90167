"""The page of a question: the human curve that is drawn, and the one that numbers are computed with."""

import pytest

from dashboard.ui.text import CURVE_NAMES
from tests.helpers.drawn_pages import divided, everything, markup


@pytest.mark.parametrize("human", ["", "team_share"])
def test_the_page_names_the_curves_of_figure_and_numbers(app, human):
    client = app.test_client()
    name = client.get("/api/v1/questions?dataset=pyramid&limit=1").json["questions"][0]["question_id"]
    query = f"human={human}" if human else ""
    question = client.get(f"/api/v1/questions/pyramid/{name}?{query}").json
    drawn_curve, used = question["drawn_curve"], question["human_curve"]
    assert (drawn_curve == used) == bool(human)
    text = everything(app, f"/questions/pyramid/{name}", f"{query}&clue=1")
    value = f"people's curve: {question['human'][drawn_curve][1]:.3f}"
    assert value in text and CURVE_NAMES[drawn_curve] in text
    other = f"{value}; h in CalScore: {question['human'][used][1]:.3f}"
    assert (other in text) == (not human)
    assert (f"another h: {CURVE_NAMES[used]}" in text) == (not human)


def test_the_figure_shows_what_the_api_says(app, client):
    question = client.get("/api/v1/questions/pyramid/lit-01").json
    ends = [clue["word_end"] for clue in question["clues"]]
    traces = divided(app, "question", "", "pyramid", "lit-01").figures["clues"]["data"]
    lines = {trace["meta"]: trace for trace in traces if isinstance(trace.get("meta"), str)}
    assert {*lines} == {run["run"] for run in question["runs"]}
    assert len({line["line"]["color"] for line in lines.values()}) == 4  # best, worst, surest and wrong; the others are grey
    for run in question["runs"]:
        line = lines[run["run"]]
        assert line["x"] == [ends[answer["clue"]] for answer in run["clues"]]
        assert line["y"] == [answer["confidence"] for answer in run["clues"]]
        symbols = line["marker"]["symbol"]
        assert ["circle" in symbol for symbol in symbols] == [answer["correct"] >= 0.5 for answer in run["clues"]]
    (people,) = (trace for trace in traces if trace.get("name") == "People")
    assert people["x"] == [0, *ends] and people["y"] == [0, *question["human"][question["drawn_curve"]]]
    heard = len(question["human"]["buzzes"])
    assert sum(len(sign) for trace in traces if trace.get("name") == "Buzzes" for sign in trace["text"]) == heard > 0
    assert markup(app, "/questions/pyramid/lit-01").count('class="tick') == heard
