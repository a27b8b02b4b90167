"""The page Buzz as the server draws it: its figures and tables show what the address returns, and bad keys are refused."""

import csv
import json

import pytest
from dash import html

from dashboard.registry.pages import PAGES, read_page
from dashboard.ui.drawing import divide_page
from dashboard.ui.html import descendants
from dashboard.ui.numbers import percent
from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions
from queries.buzzing import Rules, buzz, people_median
from queries.metrics import Conventions
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest

PYRAMID = ("dataset", "pyramid")


@pytest.fixture(scope="module")
def drawn(app):
    """Draw the page's content for an address."""

    def draw(*pairs):
        with app.test_request_context("/buzz"):
            return list(PAGES["buzz"].draw(read_page(PAGES["buzz"], list(pairs))))

    return draw


def figures(content):
    return divide_page(content).figures


def words(content):
    """Return all text that can be read, in order."""
    insides = [getattr(part, "children", None) for part in descendants(html.Div(content))]
    texts = [inside if isinstance(inside, list | tuple) else [inside] for inside in insides]
    return [text for inside in texts for text in inside if isinstance(text, str)]


@pytest.mark.parametrize(
    ("pairs", "selection", "rules"),
    [
        ((PYRAMID,), Selection("pyramid"), Rules(curve="dataset")),
        (
            (PYRAMID, ("human", "survival"), ("threshold", "0.3")),
            Selection("pyramid", conventions=Conventions(human="survival")),
            Rules(curve="dataset", threshold=0.3),
        ),
        (
            (PYRAMID, ("category", "Arts"), ("elicitation", "margin"), ("curve", "polynomial")),
            Selection("pyramid", category=("Arts",), elicitation=("margin",)),
            Rules(),
        ),
    ],
)  # fmt: skip
def test_the_figures_show_what_the_query_says(drawn, snapshot, pairs, selection, rules):
    shown, results = figures(drawn(*pairs)), buzz(snapshot, selection, rules)
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


def test_every_figure_has_its_text(drawn):
    content = drawn(PYRAMID)
    tables = [part for part in descendants(html.Div(content)) if isinstance(part, html.Table)]
    heads = [" ".join(words([table.children[0]])) for table in tables]
    for columns in ("Expected wins Points Won", "Neither People win", "by 20% by 40%", "P(buzz | correct) P(buzz | incorrect)"):
        assert any(columns in head for head in heads), columns


def test_the_page_says_why_people_have_no_guesses(drawn):
    text = " ".join(words(drawn(PYRAMID)))
    assert "what a team would have answered before it buzzed is not recorded" in text
    assert "People, upper half" in text and "≥" in text


def test_a_dataset_without_clues_names_those_that_have_them(drawn):
    content = drawn(("dataset", "lifeeval"))
    text = " ".join(words(content))
    assert "read clue by clue" in text and "Pyramid" in text and not figures(content)


def test_an_empty_selection_says_what_to_widen(drawn):
    assert "without q: zzzz" in words(drawn(PYRAMID, ("q", "zzzz")))


@pytest.mark.parametrize(
    ("pair", "code", "field", "allowed"),
    [
        (("threshold", "2"), "bad_value", "threshold", None),
        (("threshold", "nobody:0.5"), "unknown_value", "threshold", "runs"),
        (("scale", "percent"), "unknown_value", "scale", ["confidence", "logprob"]),
        (("curve", "people"), "unknown_value", "curve", ["polynomial", "dataset"]),
    ],
)
def test_a_bad_value_is_named_with_the_allowed_ones(app, client, drawn, pair, code, field, allowed):
    with pytest.raises(BadRequest) as refused:
        drawn(PYRAMID, pair)
    error = refused.value
    assert (error.code, error.field) == (code, field)
    if allowed == "runs":
        allowed = [run["run"] for run in client.get("/api/v1/buzz?dataset=pyramid").json["explorer"]["runs"]]
    assert allowed is None or error.allowed == allowed
    assert client.get(f"/buzz?dataset=pyramid&{pair[0]}={pair[1]}").status_code == 400


def test_a_threshold_changes_only_what_it_concerns(drawn):
    before, after = divide_page(drawn(PYRAMID)), divide_page(drawn(PYRAMID, ("threshold", "0.5")))
    assert before.outline() == after.outline()
    assert before.figures["wins"] != after.figures["wins"] and before.states != after.states
    assert divide_page(drawn(PYRAMID)) == before


def test_thresholds_and_curves_keep_the_structure(drawn):
    outline = divide_page(drawn(PYRAMID)).outline()
    assert divide_page(drawn(PYRAMID, ("threshold", "0.7"))).outline() == outline
    assert divide_page(drawn(PYRAMID, ("curve", "polynomial"))).outline() == outline


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
    with fresh.app.test_request_context("/buzz"):
        content = list(PAGES["buzz"].draw(read_page(PAGES["buzz"], [("dataset", "crowd")])))
        sliders = divide_page(content).states
        text = " ".join(words(content))
        assert not sliders and "Choose up to 8 runs" in text
        assert set(figures(content)) == {"wins", "curves", "habits"} and "no human team heard" in text
        assert figures(content)["wins"]["layout"]["shapes"] == []
        run = fresh.service.facets("crowd").runs[3][0]
        page = list(PAGES["buzz"].draw(read_page(PAGES["buzz"], [("dataset", "crowd"), ("run", run)])))
        assert len(divide_page(page).states) == 1
        address = [("dataset", "crowd"), ("run", run), ("curve", "dataset")]
        nothing = list(PAGES["buzz"].draw(read_page(PAGES["buzz"], address)))
        assert "There are no expected wins to draw: no human team heard any of these questions." in words(nothing)
        assert len(divide_page(nothing).states) == 1


def test_the_page_shows_shares_before_people(drawn, snapshot):
    shown = words(drawn(PYRAMID))
    assert {"Earlier than people", "Earlier than people, by category", "By 10 words before it"} <= {*shown}
    run = people_median(snapshot, Selection("pyramid"), Rules(curve="dataset")).runs[0]
    assert percent(run.earlier.share) in shown
    assert f"{percent(run.categories[0].earlier.low)} to {percent(run.categories[0].earlier.high)}" in shown
