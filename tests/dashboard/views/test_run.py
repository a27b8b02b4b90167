"""The page of one run, the chips of what is selected, and the menu of datasets."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from clueline.dashboard.ui.controls import active_filters
from clueline.dashboard.ui.frame import dataset_menu, samples_last
from clueline.queries.metrics import CATALOGUE
from tests.helpers.drawn_pages import hrefs, markup, sent, words


@pytest.fixture(scope="module")
def board(client):
    """The leaderboard of Pyramid by CalScore, best first."""
    rows = client.get("/api/v1/leaderboard?dataset=pyramid&metrics=calscore,brier").get_json()["rows"]
    return sorted(rows, key=lambda row: row["metrics"]["calscore"]["rank"])


def test_the_page_shows_values_and_ranks_of_the_run(app, board):
    row = board[2]
    html = markup(app, f"/runs/{row['run']}")
    for key in ("calscore", "brier"):
        cell = row["metrics"][key]
        (line,) = re.findall(rf"<tr>(?:(?!</tr>).)*#{key}\"(?:(?!</tr>).)*</tr>", html)
        assert f"{cell['value']:.3f}" in line and f">{cell['rank']:g} of {len(board)}<" in line


def test_its_worst_questions_are_those_of_the_list(app, client, board):
    run = board[0]["run"]
    assert CATALOGUE["calscore"].direction == "lower"
    address = f"/api/v1/questions?dataset=pyramid&metrics=calscore&run={run}&sort=-calscore:{run}&limit=12"
    expected = [question["question_id"] for question in client.get(address).get_json()["questions"]]
    listed = re.findall(r'href="/questions/pyramid/([^"?]+)\?', markup(app, f"/runs/{run}"))
    assert listed == expected


def test_it_has_its_provenance_and_its_own_diagram(app, client, board):
    run = board[0]["run"]
    facts = client.get(f"/api/v1/runs/{run}").get_json()
    html = markup(app, f"/runs/{run}")
    assert facts["sha256"][:12] in html and f"/api/v1/runs/{run}/responses.csv" in html
    figures = sent(app, f"/runs/{run}")["figures"]
    assert {trace["meta"]["run"] for trace in figures["reliability"]["data"] if trace.get("name") == "bins"} == {run}


def test_rows_of_the_leaderboard_lead_to_runs(app, board):
    assert set(re.findall(r'href="/runs/([0-9a-f]+)', markup(app, "/", "dataset=pyramid"))) == {row["run"] for row in board}


def test_each_chip_removes_its_own_value(app, board):
    pairs = [("dataset", "pyramid"), ("category", "Arts"), ("category", "History"), ("pin", board[0]["run"]), ("sort", "brier")]
    facets = app.extensions["clueline"].facets("pyramid")
    with app.test_request_context("/"):
        links, none = (hrefs([active_filters("/", chosen, facets)]) for chosen in (pairs, pairs[:1]))
    removed = [pair for link in links for pair in set(pairs) - set(parse_qsl(urlsplit(link).query))]
    assert sorted(removed) == sorted(pairs[1:4])
    assert none == set()


def test_bundled_datasets_come_last_and_labels_differ(app):
    lifeeval, *others = sorted(app.extensions["clueline"].datasets(), key=lambda dataset: dataset.dataset)
    own = type(lifeeval)(**{name: getattr(lifeeval, name) for name in lifeeval.__struct_fields__} | {"dataset": "own"})
    assert samples_last([lifeeval, *others, own])[0].dataset == "own"
    text = words([dataset_menu([lifeeval, own], "own", "/")])
    assert "own · " in text and "lifeeval · " in text and text.count("sample") == 1
