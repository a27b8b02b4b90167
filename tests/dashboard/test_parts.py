"""What a page is made of: what is only read, what callbacks know, and what is drawn anew in its place."""

import json

import pytest
from dash import dcc, html
from plotly.io.json import to_json_plotly

from dashboard.components import parts
from dashboard.view import VIEWS, read_page
from dashboard.view import _content as content_of


def content(app, view, *pairs):
    with app.test_request_context(VIEWS[view].path):
        return content_of(VIEWS[view], read_page(VIEWS[view], list(pairs)), list(pairs))


def read(framed):
    """What of a page is only read, by name."""
    return framed[-1].data


@pytest.mark.parametrize("view", ["leaderboard", "reliability", "difficulty", "questions", "compare", "slices"])
@pytest.mark.parametrize("filtered", [("difficulty", "0..0.7"), ("category", "Arts")])
def test_a_filter_changes_parts_of_a_page_and_nothing_around_them(app, view, filtered):
    dataset = ("dataset", "pyramid")
    one, other = content(app, view, dataset), content(app, view, dataset, filtered)
    before, after = parts.digests(one), parts.digests(other)
    assert before[""] and before[""] == after[""] and list(before) == list(after)
    assert read(one) != read(other)


def test_another_choice_of_columns_builds_the_page_again(app):
    """Its control shows the choice, so that what stands around the parts is not the same."""
    dataset = ("dataset", "pyramid")
    before, after = (parts.digests(content(app, "leaderboard", *pairs)) for pairs in ([dataset], [dataset, ("metrics", "ks")]))
    assert before[""] != after[""]


def test_what_a_callback_may_fill_is_left_to_it():
    readout = html.Div([html.Span("0.3")], id={"role": "readout", "key": "threshold", "kind": "a"})
    framed = parts.frame([html.Section([html.H2("Thresholds"), readout])])
    assert list(read(framed)) == ["0.0"] and readout.children[0].children == "0.3"
    assert parts.digests(framed)[""] == "", "and the page is built again, for it may look at the address"


def test_a_grid_stays_and_is_told_of_another_selection(app):
    one, other = (content(app, "questions", ("dataset", "pyramid"), *more) for more in ([], [("category", "Arts")]))
    before, after = parts.digests(one), parts.digests(other)
    assert before[""] and before[""] == after[""]
    assert [of for of in before if before[of] != after[of]] == ['{"key":"grid","kind":"rows","role":"drawn"}']


@pytest.mark.parametrize("view", ["leaderboard", "reliability", "difficulty", "compare", "slices", "buzz"])
def test_tables_are_never_components(app, view):
    left = [part._type for part in parts.every(content(app, view, ("dataset", "pyramid")))]
    assert not {"Table", "Tr", "Td", "Th"} & set(left) and len(left) < 200


def test_only_what_nobody_else_knows_is_only_read():
    store = dcc.Store(id={"role": "spec", "figure": "gap"}, data=1)
    kept = html.Div([html.P("five runs"), html.Figure([html.Figcaption("Gap"), store]), "text"])
    alone = html.P(["p ", html.A("here", href="/")])
    own = html.Div([html.B(1), None, dcc.Link("there", href="/x")], className="note")
    framed = parts.frame([alone, kept, own, None])
    assert framed[:4] == [alone, kept, own, None]
    assert read(framed) == {
        "0": ["p ", ["a", {"href": "/"}, ["here"]]],
        "1.0": ["five runs"],
        "1.1.0": ["Gap"],
        "2": [["b", {}, ["1"]], ["a", {"href": "/x", "data-link": ""}, ["there"]]],
    }
    assert alone.children is None and own.children is None and len(kept.children) == 3
    assert [of for of in parts.parts(framed)] == ['{"figure":"gap","role":"spec"}']
    assert set(parts.digests(framed)) == {"", "0", "1.0", "1.1.0", "2", '{"figure":"gap","role":"spec"}'}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (html.Td("<b>&amp;", className="number", colSpan=2), ["td", {"class": "number", "colspan": "2"}, ["<b>&amp;"]]),
        (html.Label(["a", ["b"]][:1], htmlFor="x", tabIndex="0"), ["label", {"for": "x", "tabindex": "0"}, ["a"]]),
        (html.Details([], open=True, hidden=False), ["details", {"open": ""}, []]),
        (html.Span(style={"--shade": "red", "maxHeight": "2px"}), ["span", {"style": "--shade:red;max-height:2px"}, []]),
        (html.Button("go", n_clicks=0, **{"data-set": "sort=-x", "aria-label": "Go"}),
         ["button", {"data-set": "sort=-x", "aria-label": "Go"}, ["go"]]),
        (dcc.Link("a", href="/q?x=1&y=2", title="t"), ["a", {"href": "/q?x=1&y=2", "title": "t", "data-link": ""}, ["a"]]),
    ],
)  # fmt: skip
def test_an_element_has_the_attributes_of_its_component(part, expected):
    assert parts.element(part) == expected


def test_what_stands_around_is_all_but_what_parts_hold():
    def page(text, data, css="note", between="and", more=None):
        store = dcc.Store(id={"role": "spec", "figure": "gap"}, data=data)
        inside = [html.P(text, className=css), between, store, dcc.Store(id={"role": "control", "key": "k"}, data=more)]
        return parts.digests(parts.frame([html.Div(inside)]))

    one = page("five", 1)
    assert page("six", 1) == one, "the browser itself finds what is to be read otherwise"
    assert page("five", 2)[""] == one[""] and page("five", 2) != one
    assert page("five", 1, css="lead")[""] != one[""] and page("five", 1, between="or")[""] != one[""]
    assert page("five", 1, more=1)[""] != one[""]
    assert page("five", 1) == one


def test_a_page_is_json_of_few_components(app):
    framed = content(app, "leaderboard", ("dataset", "pyramid"))
    assert json.loads(to_json_plotly(framed))[-1]["props"]["id"] == "plain"
