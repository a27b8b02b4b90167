"""The page of a question: the human curve that is drawn, and the one that numbers are computed with."""

import html
import json

import pytest

from dashboard.shell import draw
from dashboard.ui.text import CURVE_NAMES


@pytest.mark.parametrize("human", ["", "team_share"])
def test_the_page_names_the_curves_of_figure_and_numbers(app, human):
    client = app.test_client()
    name = client.get("/api/v1/questions?dataset=pyramid&limit=1").json["questions"][0]["question_id"]
    query = f"human={human}" if human else ""
    question = client.get(f"/api/v1/questions/pyramid/{name}?{query}").json
    drawn_curve, used = question["drawn_curve"], question["human_curve"]
    assert (drawn_curve == used) == bool(human)
    with app.test_request_context("/"):
        answer = json.loads(draw({"path": f"/questions/pyramid/{name}", "query": f"{query}&clue=1", "page": False}))
    text = html.unescape(json.dumps(answer, ensure_ascii=False))
    value = f"people's curve: {question['human'][drawn_curve][1]:.3f}"
    assert value in text and CURVE_NAMES[drawn_curve] in text
    other = f"{value}; h in CalScore: {question['human'][used][1]:.3f}"
    assert (other in text) == (not human)
    assert (f"another h: {CURVE_NAMES[used]}" in text) == (not human)
