"""Two runs of one model with one elicitation have different names wherever runs are shown."""

import json
import re

import pytest

from dashboard.app import create_app
from dashboard.registry.addresses import ROUTES
from dashboard.registry.pages import PAGES
from dashboard.settings import Settings
from data.importing.seed import BUNDLED
from data.store import open_store
from data.store.run_tags import change_tags
from tests.helpers.bundle_factory import put
from tests.helpers.drawn_pages import sent
from tests.helpers.json_api import table

API, NAMES = "/api/v1/", ("BM25 · October", "BM25 · November")
PAGE_NAMES = ("leaderboard", "reliability", "difficulty", "compare", "slices", "questions", "decide", "buzz", "which-ece", "runs")


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """An app on Pyramid, where one model has two runs, and their ids."""
    folder = tmp_path_factory.mktemp("twice")
    store = open_store(folder / "store", threads=1)
    put(store, BUNDLED[0])
    source = (BUNDLED[0] / "responses" / "bm25.csv").read_text()
    header, *lines = source.replace(",0.0", ",0.1").splitlines(keepends=True)
    (folder / "bm25.csv").write_text(header + "".join(line for line in lines if "softmax" in line))
    put(store, folder / "bm25.csv", dataset="pyramid", tags=(("label", "November"),))
    rows = store.snapshot().rows("select run from runs where model = 'BM25' and elicitation = 'softmax' order by position")
    change_tags(store, rows[0][0], {"label": "October"}, None)
    return create_app(Settings(store=str(folder / "store"), workers=1)), [run for (run,) in rows]


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_page_shows_both_names(twice, name):
    app, (one, other) = twice
    text = json.dumps(sent(app, PAGES[name].path, f"dataset=pyramid&run={one}&run={other}"))
    assert all(part in text for part in ("October", "November")), name


def test_json_and_csv_tell_them_apart(twice):
    """``names`` is there for every answer that has both runs, and every table of runs has a column of names."""
    app, (one, other) = twice
    client, checked = app.test_client(), 0
    for path in sorted(route.address.removeprefix("GET ") for route in ROUTES if route.selection and "<" not in route.address):
        answer = client.get(f"{path}?dataset=pyramid&run={one}&run={other}")
        if answer.status_code != 200:
            continue  # it needs other keys
        if path.endswith(".csv"):
            rows = table(client, f"{path}?dataset=pyramid&run={one}&run={other}")
            if rows and "run" in rows[0]:
                assert {row["name"] for row in rows if row["run"] in (one, other)} <= {*NAMES}, path
                checked += 1
        elif {one, other} <= {*re.findall(r'"([0-9a-f]{16})"', answer.text)} and answer.json.get("selection", {}).get("run"):
            assert [answer.json["names"][run] for run in (one, other)] == [*NAMES], path
            checked += 1
    assert checked > 8


def test_a_table_for_papers_tells_them_apart(twice):
    app, (one, other) = twice
    answer = app.test_client().get(f"{API}cite?view=/%3Fdataset%3Dpyramid%26run%3D{one}%26run%3D{other}")
    assert answer.status_code == 200 and all(name.replace("·", r"$\\cdot$") in answer.text for name in NAMES), answer.text[:2000]


def test_answers_that_need_no_names_have_none(twice):
    assert "names" not in twice[0].test_client().get(f"{API}leaderboard?dataset=pyramid&model=LSA-64").json
