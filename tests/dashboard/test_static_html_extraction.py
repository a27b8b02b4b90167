"""The parts of a page: fragments of HTML, figures, states, and the structure around them."""

import pytest
from dash import dcc, html

from dashboard.ui.drawing import as_json, as_key, divide_page
from dashboard.ui.html import is_read_only, markup, page_link


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


def test_nan_becomes_null_in_json():
    assert as_json({"a": float("nan"), "b": [html.P("x")]}).startswith(b'{"a":null,"b":[{"props":')
