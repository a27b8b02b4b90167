"""The parts of a page: fragments of HTML, figures, states, and the structure around them."""

import json

import pytest
from dash import dcc, html

from dashboard.registry.pages import PAGES, read_page
from dashboard.shell import draw
from dashboard.ui.drawing import as_json, as_key, divide_page
from dashboard.ui.html import is_read_only, markup, page_link

PYRAMID = ("dataset", "pyramid")
GRID = as_key({"role": "state", "name": "grid"})


def drawing(app, page, *pairs, question=()):
    with app.test_request_context(PAGES[page].path):
        return divide_page(PAGES[page].draw(read_page(PAGES[page], list(pairs), *question)))


def components(structure):
    """Yield every component of a structure."""
    for part in structure:
        if isinstance(part, dict):
            yield part
            yield from components(part["props"].get("children") or [])


@pytest.mark.parametrize("page", ["leaderboard", "reliability", "difficulty", "questions", "compare", "slices", "buzz"])
@pytest.mark.parametrize("filtered", [("difficulty", "0..0.3"), ("category", "Arts")])
def test_a_filter_changes_fragments_but_not_the_structure(app, page, filtered):
    before, after = drawing(app, page, PYRAMID), drawing(app, page, PYRAMID, filtered)
    assert before.outline() == after.outline() and list(before.fragments) == list(after.fragments)
    assert before.fragments != after.fragments


@pytest.mark.parametrize(
    ("page", "pair"),
    [
        ("leaderboard", ("metrics", "ece,brier,hmr")), ("leaderboard", ("sort", "brier")),
        ("reliability", ("confidence", "0.2..0.4")),
        ("buzz", ("threshold", "0.7")), ("buzz", ("curve", "polynomial")),
    ],
)  # fmt: skip
def test_a_key_of_a_page_keeps_its_structure(app, page, pair):
    """A control in use must keep its focus."""
    before, after = drawing(app, page, PYRAMID), drawing(app, page, PYRAMID, pair)
    assert before.outline() == after.outline() and before.fragments != after.fragments


def test_additional_parts_change_the_structure(app):
    plain, recalibrated = drawing(app, "reliability", PYRAMID), drawing(app, "reliability", PYRAMID, ("method", "platt"))
    assert plain.outline() != recalibrated.outline() and set(recalibrated.figures) == {*plain.figures, "changes"}


def test_a_grid_stays_and_its_state_gets_a_new_selection(app):
    before, after = (drawing(app, "questions", PYRAMID, *more) for more in ([], [("category", "Arts")]))
    assert before.outline() == after.outline()
    assert before.states[GRID] != after.states[GRID] and list(before.states) == [GRID]


@pytest.mark.parametrize(
    ("page", "question", "pairs", "names"),
    [
        ("leaderboard", (), [PYRAMID], {"gap", "ranks", "agreement"}),
        ("reliability", (), [PYRAMID, ("method", "platt")], {"reliability", "changes"}),
        ("difficulty", (), [PYRAMID], {"hard-easy", "revealed", "by-category"}),
        ("compare", (), [PYRAMID], {"scatter", "differences", "forest"}),
        ("people", (), [("dataset", "tone")], {"distance", "entropy", "ranking", "classes"}),
        ("buzz", (), [PYRAMID], {"wins", "rooms", "curves", "habits"}),
        ("question", ("pyramid", "lit-08"), [], {"clues"}),
        ("question", ("lifeeval", "0"), [], {"lifespan"}),
        ("question", ("tone", "work-01"), [], {"votes"}),
    ],
)
def test_every_axis_has_an_explicit_range(app, page, question, pairs, names):
    """Plotly's default range depends on what the figure showed before."""
    figures = drawing(app, page, *pairs, question=question).figures
    assert set(figures) >= names
    for name, figure in figures.items():
        axes = {key: axis for key, axis in figure["layout"].items() if key.startswith(("xaxis", "yaxis"))}
        assert axes and not [key for key, axis in axes.items() if "range" not in axis], name


@pytest.mark.parametrize("page", ["leaderboard", "reliability", "difficulty", "compare", "slices", "buzz"])
def test_tables_are_never_components(app, page):
    types = [part["type"] for part in components(drawing(app, page, PYRAMID).structure)]
    assert not {"Table", "Tr", "Td", "Th"} & set(types) and len(types) < 200


def test_parts_that_callbacks_use_stay_components():
    graph = dcc.Graph(id={"role": "figure", "figure": "gap"}, figure={"data": [1], "layout": {}})
    store = dcc.Store(id={"role": "state", "name": "grid"}, data=[2])
    known = html.Div(html.B("0.3"), id={"role": "known"})
    content = [html.P(["p ", html.A("here", href="/")]), html.Div([html.H2("Gap", id="gap"), graph, "text", store]), None, known]
    parts = divide_page(content)
    assert parts.fragments == {"0": 'p <a href="/">here</a>', "1.0": '<h2 id="gap">Gap</h2>', "3.0": "0.3"}
    assert parts.figures == {"gap": {"data": [1], "layout": {}}}
    assert parts.states == {as_key({"role": "state", "name": "grid"}): [2]}
    paragraph, division, last = parts.structure
    assert paragraph == {
        "type": "P", "namespace": "dash_html_components", "props": {"id": {"role": "fragment", "name": "0"}}
    }  # fmt: skip
    assert [part if isinstance(part, str) else part["type"] for part in division["props"]["children"]] == [
        "Div", "Graph", "text", "Store"
    ]  # fmt: skip
    assert last["props"]["id"] == {"role": "known"}
    assert content[0].children == ["p ", content[0].children[1]], "components are left as they were"


def test_an_outline_omits_texts_values_and_data():
    def outline(text="five", css="note", between="and", value=1, options=(1, 2), data=1):
        box = dcc.Dropdown(list(options), value, id={"role": "control", "key": "k"})
        store = dcc.Store(id={"role": "state", "name": "s"}, data=data)
        return divide_page([html.Div([html.P(text, className=css), between, box, store])]).outline()

    same = outline()
    assert outline() == same and outline(text="six") == same and outline(value=2) == same and outline(data=2) == same
    assert same not in (outline(css="lead"), outline(between="or"), outline(options=(1, 2, 3)))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (html.Td("<b>&amp;", className="number", colSpan=2), '<td class="number" colspan="2">&lt;b&gt;&amp;amp;</td>'),
        (html.Label(["a"], htmlFor="x", tabIndex="0"), '<label for="x" tabindex="0">a</label>'),
        (html.Details([], open=True, hidden=False), '<details open=""></details>'),
        (html.Span(style={"--shade": "red", "maxHeight": "2px"}), '<span style="--shade:red;max-height:2px"></span>'),
        (html.P(1, title='"quoted"'), '<p title="&#34;quoted&#34;">1</p>'),
        (html.Button("go", n_clicks=0, **{"data-set": "sort=-x", "aria-label": "Go"}),
         '<button aria-label="Go" data-set="sort=-x">go</button>'),
        (page_link("a", "/q?x=1&y=2", title="t"), '<a data-link="" href="/q?x=1&amp;y=2" title="t">a</a>'),
        (html.Div([None, "a", html.Br(), "b"]), "<div>a<br>b</div>"),
    ],
)  # fmt: skip
def test_components_as_html(part, expected):
    assert markup(part) == expected


def test_html_without_callback_ids_is_read_only():
    assert is_read_only(html.Div([html.P("a", id="anchor"), html.Table(html.Tr(html.Td("b")))]))
    assert not is_read_only(html.Div(html.P("a", id={"role": "r"})))
    assert not is_read_only(html.Div([html.P("a"), dcc.Store(id="s")]))


def test_the_server_answers_with_a_page_or_with_its_content(app):
    def answer(page, query="dataset=pyramid"):
        with app.test_request_context("/"):
            return json.loads(draw({"path": "/", "query": query, "page": page}))

    content, page = answer(False), answer(True)
    assert "page" not in content and content["outline"] == page["outline"] and content["content"] == page["content"]
    assert page["page"]["title"] == "Leaderboard · Clueline" and page["page"]["name"] == "leaderboard"
    assert "Simulated data" in page["page"]["banner"] and 'data-path="/reliability"' in page["page"]["header"]
    assert set(page["fragments"]) > set(content["fragments"])
    wrong = answer(True, "dataset=nowhere")
    assert not wrong["figures"] and "nowhere" in json.dumps(wrong["fragments"]) and wrong["page"]["banner"] == ""


def test_nan_becomes_null_in_json():
    assert as_json({"a": float("nan"), "b": [html.P("x")]}).startswith(b'{"a":null,"b":[{"props":')
