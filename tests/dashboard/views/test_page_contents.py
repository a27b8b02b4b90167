"""Pages agree with the JSON addresses and the queries: their figures, texts and links."""

import html
import re
from urllib.parse import quote

import pytest

from clueline.dashboard.registry.composed import question_list
from clueline.dashboard.registry.pages import find_page
from clueline.dashboard.service import service
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import RunColours, RunStyle
from clueline.dashboard.ui.text import distinct_short_names
from clueline.dashboard.views.leaderboard.sections import gap_figure
from clueline.queries.compare import compare
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.recalibration import recalibration
from clueline.queries.selection import Selection
from clueline.queries.slices import slices
from tests.helpers.drawn_pages import as_text, divided, drawn, markup, plain, sent, walk, words

PYRAMID = "dataset=pyramid"


@pytest.fixture(scope="module")
def runs(app):
    """Ids of the runs of Pyramid."""
    return [run for run, _, _ in app.extensions["clueline"].facets("pyramid").runs]


def test_the_dots_of_a_reliability_diagram_are_its_bins(app, client):
    runs = client.get(f"/api/v1/reliability?{PYRAMID}").json["runs"]
    figure = divided(app, "reliability", PYRAMID).figures["reliability"]
    dots = {trace["meta"]["run"]: trace for trace in figure["data"] if trace.get("name") == "bins"}
    assert list(dots) == [run["run"] for run in runs]
    for run in runs:
        filled = [part for part in run["bins"] if part["items"]]
        assert dots[run["run"]]["x"] == [part["mean_confidence"] for part in filled]
        assert dots[run["run"]]["y"] == [part["accuracy"] for part in filled]


def test_figures_beside_the_diagrams_show_the_same_runs(app, client):
    runs = client.get(f"/api/v1/triptych?{PYRAMID}").json["runs"]
    figures = divided(app, "reliability", f"{PYRAMID}&tab=decomposition").figures
    drawn_lines = {
        name: {
            trace["meta"]: (trace["x"], trace["y"])
            for trace in figures[name]["data"]
            if trace["mode"] == mode and "meta" in trace
        }
        for name, mode in (("roc", "lines"), ("plane", "markers"), ("smooth", "lines"))
    }
    for run in runs:
        points = {
            "roc": run["hull"],
            "plane": [[run["mcb"], run["dsc"]]],
            "smooth": list(zip(*run["smooth"].values(), strict=True)),
        }
        for name, expected in points.items():
            x, y = drawn_lines[name][run["run"]]
            assert list(zip(x, y, strict=True)) == [pytest.approx(point, abs=1e-4) for point in expected], name
    text = words(drawn(app, "reliability", f"{PYRAMID}&tab=tests"))
    assert all(f"{run['p_kuiper']:.3f}" in text or run["p_kuiper"] < 0.001 for run in runs)


def test_the_bins_of_each_variant_of_the_ece_are_drawn(app, client):
    answer = client.get(f"/api/v1/which-ece?{PYRAMID}").json
    figure = divided(app, "which-ece", PYRAMID).figures["which-bins"]
    dots = [len(trace["x"]) for trace in figure["data"] if trace["mode"] == "markers"]
    drawn_bins = [variant["bins"] for variant in answer["variants"] if variant["bins"]]
    assert dots == [sum(part["counted"] == counted for part in bins) for bins in drawn_bins for counted in (True, False)]


def test_equal_variants_of_the_ece_share_a_column(app, client):
    """Each run has a row, with the values that the address states."""
    answer = client.get(f"/api/v1/which-ece?{PYRAMID}").json
    values = {
        CATALOGUE[variant["key"]].label: [f"{run['value']:.3f}" for run in variant["runs"]] for variant in answer["variants"]
    }
    table = next(part for part in walk(plain(drawn(app, "which-ece", PYRAMID))) if part.get("type") == "Table")
    head, *rows = (part for part in walk(table) if part.get("type") == "Tr")
    spans = [part["props"]["children"] for part in walk(head) if part.get("type") == "Span"]
    columns = [span.split(", ") for span in spans]
    assert len(rows) == len(answer["runs"]) + 1 and len(columns) < len(values) and {*values} == set().union(*columns)
    for place, row in enumerate(rows[:-1]):
        shown = [words(cell).split()[0] for cell in walk(row) if cell.get("type") == "Td"]
        for labels, value in zip(columns, shown, strict=True):
            assert {values[label][place] for label in labels} == {value}


def test_items_of_a_range_are_listed_furthest_off_first(app, client, runs):
    listed = f"focus={runs[0]}&confidence=0.9..1"
    items = client.get(f"/api/v1/items?{PYRAMID}&{listed}").json["items"]
    assert items and all(item["confidence"] >= 0.9 for item in items)
    assert [item["off"] for item in items] == sorted((item["off"] for item in items), reverse=True)
    opened = sent(app, "/", f"{PYRAMID}&items={quote(listed + '&order=off')}", page=False)
    links = re.findall('href="/questions/pyramid/([^?]+)[?]clue=([0-9]+)"', opened["fragments"].popitem()[1])
    assert links == [(item["question_id"], str(item["clue"])) for item in items]
    closed = sent(app, "/", PYRAMID, page=False)
    assert closed["outline"] == opened["outline"] and "hidden" in closed["fragments"].popitem()[1]


@pytest.mark.parametrize(
    "path", ["/", "/reliability", "/slices", "/compare", "/difficulty", "/which-ece", "/wrong", "/by-clue", "/runs/RUN", "/buzz"]
)
def test_every_mark_opens_answers(app, runs, path):
    path = path.replace("RUN", runs[0])
    with app.test_request_context("/"):
        page, dataset, item = find_page(path)
    shown = divided(app, page.name, PYRAMID, dataset, item)
    behind = [html.unescape(text) for part in shown.fragments.values() for text in re.findall('data-items="([^"]+)"', part)]
    for figure in shown.figures.values():
        for trace in (trace for trace in figure["data"] if isinstance(trace.get("meta"), dict)):
            items = trace["meta"].get("items") or []
            behind += [items.replace("ID", trace["customdata"][0])] if isinstance(items, str) else items
    assert behind
    for text in (behind[0], behind[len(behind) // 2], behind[-1]):
        drawer = sent(app, path, f"{PYRAMID}&items={quote(text)}", page=False)["fragments"].popitem()[1]
        assert "<tr><th" in drawer and 'href="/questions/pyramid/' in drawer, text


def test_recalibration_is_drawn_with_what_it_costs(app, snapshot):
    text = words(drawn(app, "reliability", f"{PYRAMID}&method=isotonic"))
    for run in recalibration(snapshot, Selection("pyramid"), "isotonic", [CATALOGUE["ece"]]).runs:
        assert f"{run.sacrificed:,} of {run.well_calibrated:,}" in text


def test_compared_runs_are_those_of_the_address(app, snapshot, runs):
    first, *_, last = runs
    pairs = compare(snapshot, Selection("pyramid"), last, first, [CATALOGUE["brier"]]).pairs
    dots = divided(app, "compare", f"{PYRAMID}&a={last}&b={first}&metric=brier").figures["scatter"]["data"][1]
    assert (dots["x"], dots["y"]) == ([pair.a["brier"] for pair in pairs], [pair.b["brier"] for pair in pairs])
    assert dots["customdata"] == [pair.question_id for pair in pairs]
    assert dots["meta"]["items"] == f"focus={last}&focus={first}&question=ID"


def test_a_slice_links_to_its_run_and_its_filter(app, snapshot):
    results = slices(snapshot, Selection("lifeeval"), CATALOGUE["brier"])
    certain = next(slice_ for slice_ in results.slices if slice_.p_adjusted < 0.05 and slice_.difference > 0)
    text = as_text(drawn(app, "slices", "dataset=lifeeval&metric=brier"))
    key, value = next(iter(certain.filters.items()))
    assert f"run={certain.run}" in text and f"{key}={value}" in text


@pytest.mark.parametrize("query", ["dataset=tone", PYRAMID, "dataset=lifeeval", f"{PYRAMID}&metric=brier"])
def test_slices_always_list_the_largest_differences(app, query):
    content = drawn(app, "slices", query)
    text = words(content)
    assert " significant" in text and "p, adjusted" in text and ("Better" in text) == ("metric=brier" in query)
    assert as_text(content).count("Show this part") > 5


def test_without_votes_the_page_of_people_says_so(app):
    assert "no human votes" in words(drawn(app, "people", PYRAMID))


def test_votes_are_shown_next_to_whole_distributions(app, client):
    question = client.get("/api/v1/questions/tone/work-01").json
    people, *runs = divided(app, "question", "", "tone", "work-01").figures["votes"]["data"]
    assert people["x"] == question["votes"]["shares"] and people["customdata"] == question["votes"]["votes"]
    assert {run["meta"]["run"]: run["x"] for run in runs} == {run["run"]: run["shares"] for run in question["runs"]}
    text = words(drawn(app, "question", "", "tone", "work-01"))
    assert "100 human votes" in text and "no human data" not in text
    assert all(f"{run['metrics']['dist_ce']:.3f}" in text for run in question["runs"])


def test_diamonds_mark_where_runs_buzz(app, client):
    question = client.get("/api/v1/questions/pyramid/lit-08?threshold=0.5").json
    query = "threshold=0.5&" + "&".join(f"pin={run['run']}" for run in question["runs"])
    content = drawn(app, "question", query, "pyramid", "lit-08")
    traces = divided(app, "question", query, "pyramid", "lit-08").figures["clues"]["data"]
    drawn_at = {trace["name"]: (trace["x"], trace["y"]) for trace in traces if trace["name"].startswith("Buzz of ")}
    expected = {
        f"Buzz of {run['model']} · {run['elicitation']}": (
            [question["clues"][clue]["word_end"]], [run["clues"][clue]["confidence"]],
        )
        for run in question["runs"] if (clue := run["buzzpoint"]["clue"]) is not None
    }  # fmt: skip
    assert 0 < len(expected) < len(question["runs"]) and drawn_at == expected
    cells = [part["props"].get("children", "") for part in walk(plain(content)) if part.get("type") == "Td"]
    assert sum(isinstance(cell, str) and cell.endswith(" ◇") for cell in cells) == len(expected)


@pytest.mark.parametrize(("metric", "sign"), [("brier", 1), ("accuracy", -1)])
def test_a_metric_orders_the_runs_of_a_question(app, client, metric, sign):
    runs = client.get("/api/v1/questions/pyramid/lit-08").json["runs"]
    expected = sorted(runs, key=lambda run: sign * run["metrics"][metric])
    content = plain(drawn(app, "question", f"metric={metric}", "pyramid", "lit-08"))
    bodies = [part["props"] for part in walk(content) if part.get("type") == "Tbody" and "data-clue" in part["props"]]
    (shown,) = [body for body in bodies if not body["hidden"]]
    assert [body["data-clue"] for body in bodies] == [str(clue) for clue in range(len(bodies))] and shown is bodies[0]
    for body in bodies:
        rows = [row["props"] for row in body["children"] if "data-run" in row["props"]]
        assert [row["data-run"] for row in rows] == [run["run"] for run in expected]
        values = [row["children"][6]["props"]["children"] for row in rows]
        assert values == [f"{run['metrics'][metric]:.3f}" for run in expected]


def test_buzz_links_to_its_buzzpoints(app):
    text = as_text(drawn(app, "buzz", f"{PYRAMID}&threshold=0.7&category=History"))
    with app.test_request_context("/"):
        listed = question_list(Selection("pyramid", category=("History",)), (CATALOGUE["brier"],), "position", 1, None)
    assert f'"/questions/pyramid/{listed.questions[0].question_id}?category=History&threshold=0.7"' in text


def test_the_page_datasets_counts_votes_and_teams(app):
    text = words(drawn(app, "datasets"))
    assert "18,000 human votes on 180 questions" in text and "12 human teams, " in text and " 0 human" not in text


def test_runs_whose_names_begin_alike_have_separate_rows(app, runs):
    names = {run: f"A model whose name goes on and on for long v{place} softmax" for place, run in enumerate(runs)}
    with app.test_request_context("/"):
        board = service().ask(
            leaderboard, Selection("pyramid"), [CATALOGUE["accuracy_scored"], CATALOGUE["mean_confidence"]], False
        )
    drawn_rows = gap_figure(board.rows, RunStyle(names, RunColours({}, ())))["layout"]["yaxis"]
    assert drawn_rows["tickvals"] == list(range(len(names)))
    assert [label.replace(" <br>", " ") for label in drawn_rows["ticktext"]] == list(names.values())
    assert max(len(line) for label in drawn_rows["ticktext"] for line in label.split(" <br>")) <= 28


def test_long_titles_are_shortened_and_stay_different():
    assert [distinct_short_names([title]) for title in ("short", "x" * 40)] == [["short"], ["x" * 40]]
    (short,) = distinct_short_names(["Organisation/Model-70B-Instruct-with-more · temperature-scaled"])
    assert len(short) <= 40 and short.startswith("Organisation/Model") and short.endswith("temperature-scaled") and "…" in short
    names = [f"A rather long model name, version {number} instruct · verbalized" for number in ("0.1", "12.7")]
    assert distinct_short_names([*names, "BM25"]) == [
        "A rather long…0.1 instruct · verbalized", "A rather long…12.7 instruct · verbalized", "BM25",
    ]  # fmt: skip
    assert distinct_short_names([names[0], names[0]]) == ["A rather long model…nstruct · verbalized"] * 2
    names = [f"organisation/a-very-long-model-family-name-instruct-128k-{index:02}-final · verbalized" for index in range(50)]
    for longest in (18, 24, 40):
        labels = distinct_short_names(names, longest)
        assert len(set(labels)) == 50 and max(map(len, labels)) <= longest
    names = [f"{lab}/{lab}-{size}-{version}-20250901 · 2025-{month}" for lab in ("openai", "meta", "mistral")
             for size in ("mini", "pro") for version in (3, 4) for month in (10, 11)]  # fmt: skip
    labels = distinct_short_names(names, 22)
    assert len(set(labels)) == len(names) and max(map(len, labels)) <= 24
    for name, label in zip(names, labels, strict=True):
        assert label.startswith(name[:3]) and label.endswith(name[-2:])


def test_a_legend_names_runs_in_grey_too():
    runs = [f"r{index}" for index in range(9)]
    names = {run: run.upper() for run in runs}
    colours = RunColours({run: f"var(--run-{index})" for index, run in enumerate(runs)}, ("r0", "r8"))
    text = words([RunStyle(names, colours).legend(runs)])
    assert all(text.count(name) == 1 for name in names.values()) and "7 other runs in grey" in text
    assert words([RunStyle({"r0": "One"}, colours).legend(runs[:1], "People")]) == "One People"
    assert RunStyle({}, colours).legend([]) is None


def test_the_error_panel_leads_back_to_what_there_is(app):
    text = markup(app, "/", "dataset=pyramid&category=Cookery&elicitation=softmax")
    for title, pairs in (("Remove category from the link", ""), ("History", "&category=History")):
        assert re.search(rf'href="/\?dataset=pyramid&elicitation=softmax{pairs}"[^>]*>{title}<', text), title
    assert re.search(r'href="/questions/pyramid/lit-01\?clue=3"[^>]*>3<', markup(app, "/questions/pyramid/lit-01", "clue=77"))
    assert "no such page" in markup(app, "/nowhere")


def test_without_filters_an_empty_page_says_how_to_add_runs(app):
    facets = app.extensions["clueline"].facets("pyramid")
    with app.test_request_context("/"):
        text = words([nothing_selected("/", Selection("pyramid"), "answers", facets, "Leaderboard")])
    assert "import FILE --dataset pyramid" in text and "Widen" not in text
    assert text.startswith("Leaderboard") and "where they buzzed" in text
