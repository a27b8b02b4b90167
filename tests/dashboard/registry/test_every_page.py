"""What holds for every page: it is drawn for every dataset and key, names bad values, and changes in place."""

import json
import re

import pytest

from clueline.dashboard.registry.pages import PAGES, PLACES, navigation
from clueline.dashboard.service import Service
from clueline.dashboard.shell import draw
from clueline.dashboard.ui.drawing import as_key, divide_page
from clueline.dashboard.ui.figure import CONFIG
from clueline.data.store.models import rename
from clueline.data.store.run_tags import change_tags
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.drawn_pages import as_text, divided, drawn, plain, sent, walk, words
from tests.helpers.paths import ROOT

NAMES = ("leaderboard", "reliability", "difficulty", "compare", "people", "slices", "questions", "decide", "teams", "which-ece")
# The numbers of these figures are in a table next to them.
WITHOUT_A_TABLE = {"changes", "differences", "hard-easy", "forest", "lifespan", "teams", "team"}
OWN_KEYS = [
    ("leaderboard", "metrics=brier&metrics=ks,auroc&sort=-ks"), ("leaderboard", "metrics=corp_mcb&sort=brier"),
    ("reliability", "method=isotonic"), ("reliability", "method=temperature&binning=mass15"),
    ("reliability", "binning=width10%2B1"), ("reliability", "binning=width10r"), ("difficulty", "difficulty=0.2..0.8"),
    ("compare", "metric=brier"), ("slices", "metric=accuracy"), ("people", "entropy=absolute"), ("decide", "t=0.8"),
    ("which-ece", "binning=mass15"), ("by-clue", "by=revealed&human=survival"), ("wrong", "before=0&least=0.5"),
]  # fmt: skip
BAD = [
    ("leaderboard", "metrics=beauty"), ("leaderboard", "sort=beauty"), ("leaderboard", "theme=pink"),
    ("leaderboard", "category=Cookery"), ("leaderboard", "published=beauty"), ("leaderboard", "pin=nobody"),
    ("leaderboard", "published=grace-table-1&published=grace-app-n"),
    ("reliability", "method=prayer"), ("reliability", "items=focus%3Dnobody"), ("reliability", "items=confidence%3D1..0"),
    ("compare", "a=nobody"), ("compare", "metric=hard_easy_slope"), ("slices", "metric=mean_confidence"),
    ("slices", "against=nobody"), ("people", "entropy=loud"), ("decide", "a=nobody"), ("decide", "b=nobody"),
    ("which-ece", "focus=nobody"), ("questions", "metric=beauty"), ("runs", "show=some"), ("gradings", "graded_run=nobody"),
    ("across", "datasets=nowhere"), ("buzz", "threshold=2"), ("buzz", "threshold=nobody:0.5"),
    ("buzz", "scale=percent"), ("buzz", "curve=people"),
    ("by-clue", "by=word"), ("by-clue", "focus=nobody"), ("wrong", "before=2"),
]  # fmt: skip
QUESTION = "/questions/pyramid/lit-01"
GOOD_ADDRESSES = [
    "/", "/?dataset=tone&subcategory=open", "/?dataset=pyramid&category=History&sort=-brier&theme=dark",
    "/?dataset=pyramid&difficulty=0..0.01", "/?published=grace-table-1", "/questions?dataset=pyramid&metric=calscore",
    "/questions/tone/work-01", "/questions/lifeeval/0", QUESTION, f"{QUESTION}?clue=0&human=survival",
    f"{QUESTION}?threshold=0.5&metric=brier", "/buzz?dataset=pyramid&curve=dataset&human=survival&threshold=0.5&theme=dark",
    # keys that a page does not have, such as those of tracking links
    "/?colour=red", "/metrics?metric=ece", "/buzz?dataset=pyramid&sort=brier", f"{QUESTION}?utm_source=news&utm_source=x",
    "/questions?published=grace-table-99",
]  # fmt: skip
BAD_ADDRESSES = [
    *((address, 400) for address in ("/?dataset=pyramid&dataset=lifeeval", "/datasets?dataset=nowhere")),
    *((f"{QUESTION}?{keys}", 400) for keys in
      ("run=x", "clue=99", "metric=beauty", "metric=hard_easy_slope", "threshold=2", "sort=beauty:x")),
    *((address, 404) for address in ("/questions/pyramid/lit-99", "/questions/nowhere/lit-01", "/questions/pyramid", "/nowhere",
                                     f"{QUESTION}/more", "/runs/nobody")),
]  # fmt: skip


@pytest.fixture(scope="module")
def datasets(app):
    return [dataset.dataset for dataset in app.extensions["clueline"].datasets()]


@pytest.mark.parametrize("page", NAMES)
def test_a_page_is_drawn_for_every_dataset(app, datasets, page):
    """Each figure has data, axes with a range of their own (Plotly's depends on what it showed before), and a text."""
    for dataset in datasets:
        content = drawn(app, page, f"dataset={dataset}")
        assert content and "heading" in as_text(content), dataset
        for part in walk(plain(content)):
            if part.get("type") == "Figure":
                spec = next(inner for inner in walk(part) if inner.get("type") == "Graph")["props"]
                name = spec["id"]["figure"]
                assert spec["figure"]["data"], (dataset, name)
                assert any(inner.get("type") == "Details" for inner in walk(part)) or name in WITHOUT_A_TABLE, name
        for name, figure in divide_page(content).figures.items():
            axes = {key: axis for key, axis in figure["layout"].items() if key.startswith(("xaxis", "yaxis"))}
            assert axes and all("range" in axis for axis in axes.values()), (dataset, name)
    assert CONFIG["showSendToCloud"] is False


@pytest.mark.parametrize(("page", "query", "item", "names"), [
    ("leaderboard", "dataset=pyramid", (), {"gap", "ranks", "agreement"}),
    ("reliability", "dataset=pyramid&method=platt", (), {"reliability", "changes"}),
    ("difficulty", "dataset=pyramid", (), {"hard-easy", "revealed", "by-category"}),
    ("compare", "dataset=pyramid", (), {"scatter", "differences", "forest"}),
    ("people", "dataset=tone", (), {"distance", "entropy", "ranking", "classes"}),
    ("buzz", "dataset=pyramid", (), {"wins", "rooms", "curves", "habits"}),
    ("question", "", ("pyramid", "lit-08"), {"clues"}), ("question", "", ("lifeeval", "0"), {"lifespan"}),
    ("question", "", ("tone", "work-01"), {"votes"}),
])  # fmt: skip
def test_a_page_has_its_figures(app, page, query, item, names):
    figures = divided(app, page, query, *item).figures
    assert set(figures) == names if page == "question" else set(figures) >= names
    for name, figure in figures.items():
        axes = {key: axis for key, axis in figure["layout"].items() if key.startswith(("xaxis", "yaxis"))}
        assert axes and all("range" in axis for axis in axes.values()), name


@pytest.mark.parametrize(("page", "query"), OWN_KEYS)
def test_a_page_is_drawn_for_its_own_keys(app, datasets, page, query):
    for dataset in datasets:
        assert drawn(app, page, f"dataset={dataset}&{query}")


@pytest.mark.parametrize(("page", "query"), BAD)
def test_a_bad_value_in_an_address_is_named(app, client, page, query):
    with pytest.raises(BadRequest) as caught:
        drawn(app, page, f"dataset=pyramid&{query}")
    assert caught.value.field == query.partition("=")[0]
    assert caught.value.allowed or caught.value.code != "unknown_value"
    answer = client.get(f"{PAGES[page].path}?dataset=pyramid&{query}")
    assert (answer.status_code, answer.mimetype) == (400, "text/html")


@pytest.mark.parametrize("address", GOOD_ADDRESSES)
def test_a_good_address_is_a_page(client, address):
    answer = client.get(address)
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert "<title>" in answer.text and 'lang="en"' in answer.text


@pytest.mark.parametrize(("address", "status"), BAD_ADDRESSES)
def test_a_bad_address_has_its_error_status(client, address, status):
    answer = client.get(address)
    assert (answer.status_code, answer.mimetype) == (status, "text/html")


def test_unknown_keys_are_ignored_and_named(app):
    text = json.dumps(sent(app, "/", "dataset=pyramid&utm_source=a&utm_source=b&fbclid=x"))
    assert "Ignored keys in the link: utm_source, fbclid" in text
    assert "Ignored" not in json.dumps(sent(app, "/", "dataset=pyramid&theme=dark"))


@pytest.mark.parametrize("page", [*NAMES, "buzz"])
def test_an_empty_selection_says_what_to_widen(app, page):
    content = drawn(app, page, "dataset=pyramid&q=zzzzzzzz")
    assert "without q" in as_text(content) and "match these filters" in words(content)


def test_a_run_in_focus_that_filters_leave_out_stops_no_page(app, client):
    """Links between pages keep it, so every page of a dataset can have one."""
    left_out, *_ = [run for run in client.get("/api/v1/runs?dataset=pyramid").json["runs"] if run["model"] != "BM25"]
    for name, page in PAGES.items():
        if page.order is not None and page.place in ("Overview", "Calibration", "When to answer", "Questions", "Compare"):
            drawn(app, name, f"dataset=pyramid&model=BM25&focus={left_out['run']}")


def test_pages_stand_in_places_in_a_clear_order(app):
    for place in PLACES:
        orders = [page.order for page in PAGES.values() if page.place == place and page.order is not None]
        assert orders and len(set(orders)) == len(orders), place
    assert {page.place for page in PAGES.values()} <= {*PLACES, ""}


@pytest.mark.parametrize(("dataset", "missing"), [
    ("pyramid", {"/people"}), ("lifeeval", {"/buzz", "/by-clue", "/people", "/teams"}),
    ("tone", {"/buzz", "/by-clue", "/teams"}),
])  # fmt: skip
def test_pages_that_show_nothing_are_not_offered(app, dataset, missing):
    with app.app_context():
        offered = navigation(app.extensions["clueline"].facets(dataset))
    every = {path for pages in navigation(None).values() for path, _ in pages}
    assert every - {path for pages in offered.values() for path, _ in pages} == missing


def test_no_page_shows_an_identifier_of_the_code(app):
    for name, page in PAGES.items():
        if page.order is not None:
            texts = [part["props"].get("children") for part in walk(plain(drawn(app, name)))
                     if part.get("type") != "Code" and "props" in part]  # fmt: skip
            assert not [text for text in texts if isinstance(text, str) and re.search(r"(?<!\w)_[a-z]\w+", text)], name


# -- a page changes in place: a control in use must keep its focus -------------------------------------------------------------

FILTERS = ("difficulty=0..0.3", "category=Arts")
SAME_STRUCTURE = [
    *((page, query) for page in ("leaderboard", "reliability", "difficulty", "questions", "compare", "slices", "buzz")
      for query in FILTERS),
    ("leaderboard", "metrics=ece,brier,hmr"), ("leaderboard", "sort=brier"), ("reliability", "binning=mass15"),
    ("buzz", "threshold=0.7"), ("buzz", "curve=polynomial"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "query"), SAME_STRUCTURE)
def test_keys_change_fragments_but_not_the_structure(app, page, query):
    before, after = divided(app, page, "dataset=pyramid"), divided(app, page, f"dataset=pyramid&{query}")
    assert before.outline() == after.outline() and list(before.fragments) == list(after.fragments)
    assert before.fragments != after.fragments
    if page == "questions":
        grid = as_key({"role": "state", "name": "grid"})
        assert before.states[grid] != after.states[grid] and list(before.states) == [grid]
    else:  # tables are HTML, not components
        assert not {"Table", "Tr", "Td", "Th"} & {part.get("type") for part in walk(plain(before.structure))}
    if query == "threshold=0.7":
        assert before.figures["wins"] != after.figures["wins"] and before.states != after.states


def test_additional_parts_change_the_structure(app):
    before, recalibrated = (divided(app, "reliability", f"dataset=pyramid{more}") for more in ("", "&method=platt"))
    assert before.outline() != recalibrated.outline() and set(recalibrated.figures) == {*before.figures, "changes"}


def test_the_server_answers_with_a_page_or_with_its_content(app):
    content, page = (sent(app, "/", "dataset=pyramid", wanted) for wanted in (False, True))
    assert "page" not in content and content["outline"] == page["outline"] and content["content"] == page["content"]
    assert page["page"]["title"] == "Leaderboard" and page["page"]["name"] == "leaderboard"
    assert "Simulated people" in page["page"]["banner"] and 'data-path="/by-clue"' in page["page"]["header"]
    assert set(page["fragments"]) > set(content["fragments"])
    wrong = sent(app, "/", "dataset=nowhere")
    assert not wrong["figures"] and "nowhere" in json.dumps(wrong["fragments"]) and wrong["page"]["banner"] == ""


def cited():
    """Return the paths of pages of Pyramid that papers can cite."""
    return [page.path for page in PAGES.values() if page.table and page.order is not None and page.name != "people"]


def test_what_papers_cite_is_drawn_once(app, monkeypatch):
    """Until the dataset changes; for each address of the server by itself, and for each query."""
    asked = [*((path, "dataset=pyramid&category=History") for path in cited()), ("/questions/pyramid/lit-08", "")]
    first = [sent(app, *one) for one in asked]
    monkeypatch.setattr("clueline.dashboard.shell.content_of", no_drawing)
    assert [sent(app, *one) for one in asked] == first and len(asked) > 8
    for other in ("dataset=pyramid&category=History&sort=-ece", "dataset=tone"):
        with pytest.raises(RuntimeError):
            sent(app, "/", other)
    with app.test_request_context("/", base_url="http://elsewhere"), pytest.raises(RuntimeError):
        draw({"path": "/", "query": asked[0][1], "page": True})


def no_drawing(*_):
    raise RuntimeError


def test_kept_drawings_are_those_of_the_data(app_taking_uploads, monkeypatch):
    """Whatever changes: the dataset itself, another one, or a model on several."""
    app = app_taking_uploads("open")
    store = app.extensions["clueline"].store
    runs = {dataset: (run, model) for dataset, run, model in store.snapshot().rows("select dataset, run, model from runs")}
    asked = [(path, "dataset=pyramid") for path in cited()] + [(f"/runs/{runs[name][0]}", "") for name in ("pyramid", "lifeeval")]
    for change in (
        lambda: rename(store, runs["lifeeval"][1], "renamed", None),
        lambda: change_tags(store, runs["tone"][0], {"kind": "odd"}, None),
        lambda: withdraw(store, runs["pyramid"][0], None),
    ):
        for one in asked:
            sent(app, *one)  # kept
        assert change()
        kept = [sent(app, *one) for one in asked]
        with monkeypatch.context() as patch:
            patch.setattr(Service, "drawn", lambda service, dataset, path, pairs, draw: draw())
            assert [sent(app, *one) for one in asked] == kept


# -- nothing in a page points to another host ----------------------------------------------------------------------------------

ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s\"'<>)]*", re.IGNORECASE)
NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML")


def pointing_elsewhere(text):
    return [address for address in ELSEWHERE.findall(text) if not address.startswith(NAMESPACES)]


def test_no_page_and_no_asset_asks_another_host(client):
    for address in ("/", QUESTION, "/nowhere"):
        assert not pointing_elsewhere(client.get(address).text), address
    assets = [path for path in (ROOT / "assets").rglob("*") if path.suffix in (".js", ".css", ".svg", ".html", ".json")]
    assert assets
    for path in assets:
        assert not pointing_elsewhere(path.read_text(encoding="utf-8")), path


def test_every_script_of_the_page_is_served(client):
    sources = re.findall(r'(?:src|href)="([^"]+)"', client.get("/").text)
    assert any("question" in source for source in sources)
    for source in sources:
        assert client.get(source.replace("&amp;", "&")).status_code == 200, source
