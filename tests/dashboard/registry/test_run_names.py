"""Two runs of one model with one elicitation have different names wherever runs are shown."""

import json
import re
import shutil
from urllib.parse import urlencode

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.importing.seed import BUNDLED
from clueline.data.store import open_store
from clueline.data.store.run_tags import change_tags
from tests.helpers.bundle_factory import put
from tests.helpers.drawn_pages import drawn, sent, words
from tests.helpers.json_api import table

API, NAMES = "/api/v1/", ("BM25 · October · softmax", "BM25 · November · softmax")
PATHS = {"question": "/pyramid/lit-01", "run": "/{}"}
# Pages of runs. Others are of datasets, of people, or of models with all their runs.
PAGE_NAMES = (
    "across", "buzz", "by-clue", "compare", "decide", "difficulty", "gradings", "leaderboard", "question", "questions",
    "reliability", "run", "runs", "slices", "which-ece", "wrong",
)  # fmt: skip
OTHERS = {"cite", "datasets", "metrics", "model", "models", "nowhere", "people", "teams", "upload", "write"}


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
def test_no_page_names_one_of_them_as_the_other(twice, name):
    """Wherever the model is named, what tells its runs apart follows, except where models are chosen."""
    app, (one, other) = twice
    assert {*PAGES} == {*PAGE_NAMES} | OTHERS
    path = PAGES[name].path + PATHS.get(name, "").format(one)
    keys = f"dataset=pyramid&run={one}&run={other}&rows=runs&pin={one}&pin={other}&diagrams=1"
    text = json.dumps(sent(app, path, keys), ensure_ascii=False).replace('{"label": "BM25", "value": "BM25"}', "")
    text = re.sub(r"BM25, run [0-9a-f]{16}|/models/BM25", "", text)
    assert "October" in text and (name == "run" or "November" in text)
    assert re.findall(r".{60}BM25(?! · [ON]| · margin).{40}", text) == [], name


def test_json_and_csv_tell_them_apart(twice):
    """``names`` is there for every answer that has both runs, and every table of runs has a column of names."""
    app, (one, other) = twice
    client, checked = app.test_client(), []
    selected = [route.address.removeprefix("GET ") for route in ROUTES if route.selection and "<" not in route.address]
    shared = [
        f"{API}{path}{form}" for path in ("across", "across/diagrams", "models/BM25", "versions/BM25") for form in ("", ".csv")
    ]
    for path in sorted([*selected, *shared]):
        keys = ("rows=runs" if "across" in path else "") if path in shared else f"dataset=pyramid&run={one}&run={other}"
        answer = client.get(f"{path}?{keys}")
        if answer.status_code != 200:
            continue  # it needs other keys
        if path.endswith(".csv"):
            rows = [row for row in table(client, f"{path}?{keys}") if row.get("run") in (one, other)]
            if rows:
                assert {row["name"] for row in rows} <= {*NAMES}, path
                checked.append(path)
        elif {one, other} <= {*re.findall(r'"([0-9a-f]{16})"', answer.text)} and "run" in answer.json.get(
            "selection", {"run": []}
        ):
            assert [answer.json["names"][run] for run in (one, other)] == [*NAMES], path
            checked.append(path)
    assert {*shared} <= {*checked} and len(checked) > 25, checked


def test_tables_for_papers_tell_them_apart(twice):
    """Each names the runs that it is of, and never the model alone."""
    app, (one, other) = twice
    keys = urlencode([("dataset", "pyramid"), ("run", one), ("run", other), ("a", one), ("b", other)])
    client, names_of_pages = app.test_client(), {}
    for page in PAGES.values():
        if not page.table:
            continue
        path = page.path + PATHS.get(page.name, "").format(one)
        answer = client.get(f"{API}cite?{urlencode({'view': f'{path}?{keys}'})}")
        assert answer.status_code == 200, answer.text
        for text, dot in ((answer.json["latex"], r"$\cdot$"), (answer.json["markdown"], "·")):
            names_of_pages[page.name] = sorted({part for part in NAMES if part.replace("·", dot) in text})
            assert not re.search(r"BM25(?! (·|\$\\cdot\$) [ON])", text), text
    assert {name for name, named in names_of_pages.items() if len(named) == 2} >= {
        "buzz", "by-clue", "compare", "decide", "difficulty", "leaderboard", "question", "reliability", "slices", "which-ece",
        "wrong",
    }  # fmt: skip


def test_no_page_shows_an_id_for_a_name(first_start, tmp_path):
    """LifeEval has models, reference forecasters and people, who are not ranked. Ids of runs are 16 hexadecimal digits."""
    app = create_app(Settings(store=str(shutil.copytree(first_start, tmp_path / "store")), workers=1))
    for name in {*PAGE_NAMES} - {"question", "run", "runs"}:
        assert not re.search(r"\b[0-9a-f]{16}\b", words(drawn(app, name, "dataset=lifeeval"))), name


def test_answers_that_need_no_names_have_none(twice):
    assert "names" not in twice[0].test_client().get(f"{API}leaderboard?dataset=pyramid&model=LSA-64").json
