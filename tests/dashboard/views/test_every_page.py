"""Every page drawn from its address, without a browser: its texts, figures and links, and that they agree with the queries."""

import json
import re
from urllib.parse import parse_qsl

import pytest

from dashboard.registry.composed import question_list
from dashboard.registry.pages import PAGES, read_page
from dashboard.service import service
from dashboard.shell import draw
from dashboard.ui.messages import in_short, nothing_selected
from dashboard.ui.names import distinct_short_names
from dashboard.ui.runs import RunColours, legend
from dashboard.views.leaderboard.figures import gap_figure
from queries.compare import compare
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE
from queries.recalibration import recalibration
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest
from queries.slices import slices
from tests.helpers.drawn_pages import drawn, plain, walk, words

# The numbers of these figures are in a table next to them.
WITHOUT_A_TABLE = {"changes", "differences", "hard-easy", "forest", "lifespan", "teams", "team"}
ADDRESSES = [
    ("leaderboard", "metrics=brier&metrics=ks,auroc&sort=-ks"),
    ("leaderboard", "metrics=corp_mcb&sort=brier"),
    ("reliability", "method=isotonic&confidence=0.8..1"),
    ("reliability", "method=temperature&binning=mass15"),
    ("reliability", "binning=width10%2B1"),
    ("reliability", "binning=width10r"),
    ("difficulty", "difficulty=0.2..0.8"),
    ("compare", "metric=brier"),
    ("slices", "metric=accuracy"),
    ("people", "entropy=absolute"),
    ("decide", "t=0.8"),
    ("which-ece", "binning=mass15"),
]
BAD = [
    ("leaderboard", "metrics=beauty", "metrics"),
    ("reliability", "method=prayer", "method"),
    ("reliability", "focus=nobody", "focus"),
    ("reliability", "confidence=1..0", "confidence"),
    ("compare", "a=nobody", "a"),
    ("compare", "metric=hard_easy_slope", "metric"),
    ("slices", "metric=mean_confidence", "metric"),
    ("slices", "against=nobody", "against"),
    ("people", "entropy=loud", "entropy"),
    ("decide", "a=nobody", "a"),
    ("which-ece", "focus=nobody", "focus"),
    ("decide", "b=nobody", "b"),
]


def figures(content):
    """Return name -> the figure and whether it has a text equivalent."""
    drawn_figures = {}
    for part in walk(plain(content)):
        if part.get("type") == "Figure":
            spec = next(inner for inner in walk(part) if inner.get("type") == "Graph")["props"]
            drawn_figures[spec["id"]["figure"]] = (spec["figure"], any(inner.get("type") == "Details" for inner in walk(part)))
    return drawn_figures


def datasets(app):
    with app.test_request_context("/"):
        return [dataset.dataset for dataset in service().datasets()]


NAMES = ("leaderboard", "reliability", "difficulty", "compare", "people", "slices", "questions", "decide", "teams", "which-ece")


@pytest.mark.parametrize("view", NAMES)
def test_a_page_is_drawn_for_every_dataset(app, view):
    for dataset in datasets(app):
        content = drawn(app, view, f"dataset={dataset}")
        assert content and "heading" in json.dumps(plain(content)), (view, dataset)
        for name, (spec, has_text) in figures(content).items():
            assert spec["data"], (view, dataset, name)
            assert has_text or name in WITHOUT_A_TABLE, f"{name} on {view} has no text equivalent"


@pytest.mark.parametrize(("view", "query"), ADDRESSES)
def test_a_page_is_drawn_for_its_own_keys(app, view, query):
    for dataset in datasets(app):
        assert drawn(app, view, f"dataset={dataset}&{query}")


@pytest.mark.parametrize(("view", "query", "field"), BAD)
def test_a_bad_value_in_an_address_is_named(app, client, view, query, field):
    with pytest.raises(BadRequest) as caught:
        drawn(app, view, f"dataset=pyramid&{query}")
    assert caught.value.field == field
    assert client.get(f"{PAGES[view].path}?dataset=pyramid&{query}").status_code == 400


def test_keys_that_a_page_does_not_know_are_ignored_and_named(app):
    with app.test_request_context("/"):
        content = draw({"path": "/", "query": "dataset=pyramid&utm_source=a&utm_source=b&fbclid=x", "page": True})
        silent = draw({"path": "/", "query": "dataset=pyramid&theme=dark", "page": True})
    assert "Ignored keys in the link: utm_source, fbclid" in content
    assert "Ignored" not in silent


@pytest.mark.parametrize("view", NAMES)
def test_an_empty_selection_says_what_to_widen(app, view):
    content = drawn(app, view, "dataset=pyramid&q=zzzzzzzz")
    text = words(content)
    assert "without q" in json.dumps(plain(content)) and "match these filters" in text


def test_pages_have_different_places_in_the_navigation(app):
    places = [view.place for view in PAGES.values() if view.place is not None]
    assert len(set(places)) == len(places)


# -- pages show the results of the queries -----------------------------------------------------------------------------


def runs_of(app, dataset):
    with app.test_request_context("/"):
        return [run for run, _, _ in service().facets(dataset).runs]


def test_the_dots_of_a_reliability_diagram_are_its_bins(app, client):
    runs = client.get("/api/v1/reliability?dataset=pyramid").get_json()["runs"]
    spec, _ = figures(drawn(app, "reliability", "dataset=pyramid"))["reliability"]
    dots = {trace["meta"]: trace for trace in spec["data"] if trace.get("name") == "bins"}
    assert list(dots) == [run["run"] for run in runs]
    for run in runs:
        filled = [part for part in run["bins"] if part["items"]]
        assert dots[run["run"]]["x"] == [part["mean_confidence"] for part in filled]
        assert dots[run["run"]]["y"] == [part["accuracy"] for part in filled]


def test_items_of_a_range_are_listed_furthest_off_first(app, client):
    run = runs_of(app, "pyramid")[0]
    content = drawn(app, "reliability", f"dataset=pyramid&focus={run}&confidence=0.9..1")
    answer = client.get(f"/api/v1/items?dataset=pyramid&run={run}&confidence=0.9..1").get_json()
    assert answer["total"] > 0 and all(item["confidence"] >= 0.9 for item in answer["items"])
    assert [item["off"] for item in answer["items"]] == sorted((item["off"] for item in answer["items"]), reverse=True)
    assert all(f'"{item["question_id"]}"' in json.dumps(plain(content)) for item in answer["items"][:20])


def test_recalibration_is_drawn_with_what_it_costs(app, snapshot):
    results = recalibration(snapshot, Selection("pyramid"), "isotonic", [CATALOGUE["ece"]])
    text = words(drawn(app, "reliability", "dataset=pyramid&method=isotonic"))
    for run in results.runs:
        assert f"{run.sacrificed:,} of {run.well_calibrated:,}" in text
    assert {"reliability", "changes"} <= set(figures(drawn(app, "reliability", "dataset=pyramid&method=isotonic")))


def test_compared_runs_are_those_of_the_address(app, snapshot):
    first, *_, last = runs_of(app, "pyramid")
    comparison = compare(snapshot, Selection("pyramid"), last, first, [CATALOGUE["brier"]])
    spec, _ = figures(drawn(app, "compare", f"dataset=pyramid&a={last}&b={first}&metric=brier"))["scatter"]
    dots = spec["data"][1]
    assert dots["x"] == [pair.a["brier"] for pair in comparison.pairs] and dots["y"] == [
        pair.b["brier"] for pair in comparison.pairs
    ]
    assert dots["customdata"] == [pair.question_id for pair in comparison.pairs]
    assert dots["meta"]["link"].startswith("/questions/pyramid/ID")


def test_a_slice_links_to_its_run_and_its_filter(app, snapshot):
    results = slices(snapshot, Selection("lifeeval"), CATALOGUE["brier"])
    certain = next(slice_ for slice_ in results.slices if slice_.p_adjusted < 0.05 and slice_.difference > 0)
    text = json.dumps(plain(drawn(app, "slices", "dataset=lifeeval&metric=brier")))
    key, value = next(iter(certain.filters.items()))
    assert f"run={certain.run}" in text and f"{key}={value}" in text


@pytest.mark.parametrize("query", ["dataset=tone", "dataset=pyramid", "dataset=lifeeval", "dataset=pyramid&metric=brier"])
def test_slices_always_list_the_largest_differences(app, query):
    text = words(drawn(app, "slices", query))
    assert " significant" in text and "p, adjusted" in text
    assert ("Better" in text) == ("metric=brier" in query)
    assert json.dumps(plain(drawn(app, "slices", query))).count("Show this part") > 5


def test_without_votes_the_page_of_people_says_so(app):
    assert "no human votes" in words(drawn(app, "people", "dataset=pyramid"))


# -- one question ------------------------------------------------------------------------------------------------------


def question_page(app, dataset, name, query=""):
    with app.test_request_context(f"/questions/{dataset}/{name}"):
        looking = read_page(PAGES["question"], parse_qsl(query), dataset, name)
        PAGES["question"].check(looking)
        return [part for part in PAGES["question"].draw(looking) if part is not None]


def test_votes_are_shown_next_to_whole_distributions(app, client):
    question = client.get("/api/v1/questions/tone/work-01").get_json()
    content = question_page(app, "tone", "work-01")
    drawn_figures = figures(content)
    assert list(drawn_figures) == ["votes"] and drawn_figures["votes"][1]
    people, *runs = drawn_figures["votes"][0]["data"]
    assert people["x"] == question["votes"]["shares"] and people["customdata"] == question["votes"]["votes"]
    assert {run["meta"]: run["x"] for run in runs} == {run["run"]: run["shares"] for run in question["runs"]}
    text = words(content)
    assert "100 human votes" in text and "no human data" not in text
    assert all(f"{run['metrics']['dist_ce']:.3f}" in text for run in question["runs"])


def test_without_votes_a_question_has_no_figure_of_them(app):
    assert list(figures(question_page(app, "pyramid", "lit-08"))) == ["clues"]


def test_diamonds_mark_where_runs_buzz(app, client):
    question = client.get("/api/v1/questions/pyramid/lit-08?threshold=0.5").get_json()
    content = question_page(app, "pyramid", "lit-08", "threshold=0.5")
    spec, _ = figures(content)["clues"]
    drawn_at = {trace["name"]: (trace["x"], trace["y"]) for trace in spec["data"] if trace["name"].startswith("Buzz of ")}
    expected = {}
    for run in question["runs"]:
        if (clue := run["buzzpoint"]["clue"]) is not None:
            name = f"Buzz of {run['model']} · {run['elicitation']}"
            expected[name] = ([question["clues"][clue]["word_end"]], [run["clues"][clue]["confidence"]])
    assert 0 < len(expected) < len(question["runs"]) and drawn_at == expected
    assert sum(part["props"].get("children", "").endswith(" ◇") for part in walk(plain(content)) if part.get("type") == "Td"
               and isinstance(part["props"].get("children"), str)) == len(expected)  # fmt: skip


@pytest.mark.parametrize(("metric", "sign"), [("brier", 1), ("accuracy", -1)])
def test_a_metric_orders_the_runs_of_a_question(app, client, metric, sign):
    runs = client.get("/api/v1/questions/pyramid/lit-08").get_json()["runs"]
    expected = sorted(runs, key=lambda run: sign * run["metrics"][metric])
    content = question_page(app, "pyramid", "lit-08", f"metric={metric}")
    bodies = [part["props"] for part in walk(plain(content)) if part.get("type") == "Tbody" and "data-clue" in part["props"]]
    (shown,) = [body for body in bodies if not body["hidden"]]
    assert [body["data-clue"] for body in bodies] == [str(clue) for clue in range(len(bodies))] and shown is bodies[-1]
    for body in bodies:
        assert [row["props"]["data-run"] for row in body["children"]] == [run["run"] for run in expected]
        assert [row["props"]["children"][6]["props"]["children"] for row in body["children"]] == [
            f"{run['metrics'][metric]:.3f}" for run in expected
        ]


def test_buzz_links_to_its_buzzpoints(app):
    text = json.dumps(plain(drawn(app, "buzz", "dataset=pyramid&threshold=0.7&category=History")))
    with app.test_request_context("/"):
        first = question_list(Selection("pyramid", category=("History",)), (CATALOGUE["brier"],), "position", 1, None).questions[
            0
        ]
    assert f'"/questions/pyramid/{first.question_id}?category=History&threshold=0.7"' in text


def test_the_page_datasets_counts_votes_and_teams(app):
    text = words(drawn(app, "datasets"))
    assert "18,000 human votes on 180 questions" in text and "12 human teams, " in text and " 0 human" not in text


@pytest.mark.parametrize(("note", "short"), [
    ("", ""), ("Made up. So it is.", "Made up. So it is."), ("One. " + "a" * 400 + ".", "One."),
    ("b" * 400 + ". More.", "b" * 400 + "."),
    ("One, by 1.5 times. " + "Two. " * 80, ("One, by 1.5 times. " + "Two. " * 80)[:198]), ("c" * 400, "c" * 400),
])  # fmt: skip
def test_a_banner_is_shortened_to_whole_sentences(note, short):
    assert in_short(note) == short


# -- room on a screen --------------------------------------------------------------------------------------------------


def test_runs_whose_names_begin_alike_have_separate_rows(app):
    names = {
        run: f"A model whose name goes on and on for long v{place} softmax" for place, run in enumerate(runs_of(app, "pyramid"))
    }
    with app.test_request_context("/"):
        board = service().ask(leaderboard, Selection("pyramid"), [CATALOGUE["accuracy"], CATALOGUE["mean_confidence"]], False)
    drawn_rows = gap_figure(board, names, {})["layout"]["yaxis"]
    assert drawn_rows["tickvals"] == list(range(len(names)))
    assert [label.replace(" <br>", " ") for label in drawn_rows["ticktext"]] == list(names.values())
    assert max(len(line) for label in drawn_rows["ticktext"] for line in label.split(" <br>")) <= 22


@pytest.mark.parametrize("title", ["short", "x" * 40])
def test_a_title_that_fits_is_unchanged(title):
    assert distinct_short_names([title]) == [title]


def test_a_long_title_keeps_its_beginning_and_end():
    (short,) = distinct_short_names(["Organisation/Model-70B-Instruct-with-more · temperature-scaled"])
    assert len(short) <= 40 and short.startswith("Organisation/Model") and short.endswith("temperature-scaled") and "…" in short


def test_titles_that_begin_and_end_alike_stay_different():
    names = [f"A rather long model name, version {number} instruct · verbalized" for number in ("0.1", "12.7")]
    assert distinct_short_names([*names, "BM25"]) == ["…0.1 instruct · verbalized", "…12.7 instruct · verbalized", "BM25"]
    assert distinct_short_names([names[0], names[0]]) == ["A rather long model…nstruct · verbalized"] * 2


def test_a_legend_names_runs_in_grey_too():
    runs = [f"r{index}" for index in range(9)]
    names = {run: run.upper() for run in runs}
    colours = RunColours({run: f"var(--run-{index})" for index, run in enumerate(runs)}, ("r0", "r8"))
    assert words([legend(runs, names, colours)]) == "R0 R8 7 other runs in grey R1 R2 R3 R4 R5 R6 R7"
    assert words([legend(runs[:1], {"r0": "One"}, colours, "People")]) == "One People"
    assert legend([], {}, colours) is None


def test_without_filters_an_empty_page_says_how_to_add_runs(app):
    with app.test_request_context("/"):
        text = words([nothing_selected("/", Selection("pyramid"), "answers", service().facets("pyramid"), "Leaderboard")])
    assert "import FILE --dataset pyramid" in text and "Widen" not in text
    assert text.startswith("Leaderboard") and "where they buzzed" in text


def test_no_page_shows_an_identifier_of_the_code(app):
    for name, page in PAGES.items():
        if page.place is not None:
            texts = [
                part["props"].get("children")
                for part in walk(plain(drawn(app, name, "")))
                if part.get("type") != "Code" and "props" in part
            ]
            shown = [text for text in texts if isinstance(text, str) and re.search(r"(?<!\w)_[a-z]\w+", text)]
            assert not shown, (name, shown)
