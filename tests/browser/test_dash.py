"""What docs/rendering.md uses of Dash and Plotly: each test fails if a new version behaves differently."""

import json
import math
import random

import pytest

from clueline.dashboard.ui.text import percent, short
from tests.helpers.page_actions import eventually
from tests.helpers.page_visits import Visit
from tests.helpers.page_walk import shown


@pytest.fixture(scope="module")
def board(browser, server, tabs):
    """One page for all tests: those that replace a part of it come last."""
    visit = Visit(browser, server, tabs=tabs(server))
    visit.page.goto("/?dataset=pyramid")
    shown(visit.page)
    yield visit.page
    visit.close()
    assert not visit.complaints


def holds(page, script, expected):
    def check():
        assert page.evaluate(script) == expected

    eventually(page, check)


def test_the_element_of_a_component_has_its_id_as_json(board):
    ids = board.evaluate("""[...document.querySelectorAll("#content [data-html]")].map((one) => one.id)""")
    assert ids and all(json.dumps(json.loads(name), sort_keys=True, separators=(",", ":")) == name for name in ids)


def test_a_figure_with_an_explicit_size_is_not_redrawn(board):
    """Not even when Dash tells Plotly that its size may have changed."""
    drawn = """async () => {
        const plot = clueline.plot("gap");
        let count = 0;
        plot.on("plotly_afterplot", () => { count += 1; });
        await Plotly.Plots.resize(plot);
        await new Promise((done) => setTimeout(done, 300));
        return [count, plot.layout.width === plot.clientWidth];
    }"""
    assert board.evaluate(drawn) == [0, True]


def test_a_figure_follows_the_width_of_the_page(board):
    before = board.evaluate("clueline.plot('gap').layout.width")
    board.set_viewport_size({"width": 900, "height": 800})
    eventually(board, lambda: _follows(board, before))


def _follows(page, before):
    plot, frame = page.evaluate("[clueline.plot('gap').layout.width, document.querySelector('[data-figure=gap]').clientWidth]")
    assert plot == frame != before


def test_server_and_browser_write_numbers_alike(board):
    chance = random.Random(1)
    values = [chance.uniform(-1, 1) * 10 ** chance.randint(-5, 4) for _ in range(500)]
    values += [None, 0.0, -0.0, 1.0, -1e-9, 0.0005, 0.0015, -0.0005, 0.0625, -0.0625, 0.1875, 0.5, 1e6, math.pi]
    for digits in (2, 3):
        written = board.evaluate("([values, digits]) => values.map((value) => clueline.short(value, digits))", [values, digits])
        assert written == [short(value, digits) for value in values]
    assert board.evaluate("(values) => values.map(clueline.percent)", values) == [percent(value) for value in values]


def test_properties_set_reach_the_attributes_of_an_element(board):
    name = board.evaluate("""document.querySelector('#content [data-html]').id""")
    board.evaluate("(id) => dash_clientside.set_props(JSON.parse(id), { 'data-html': '<b>other</b>' })", name)
    holds(board, f"document.getElementById({json.dumps(name)}).innerHTML", "<b>other</b>")


def test_a_graph_takes_a_figure_by_its_properties(board):
    layout = {"width": 300, "height": 200, "xaxis": {"range": [0, 3]}}
    figure = {"data": [{"type": "scatter", "x": [1, 2], "y": [3, 4]}], "layout": layout}
    give = "(figure) => dash_clientside.set_props({ role: 'figure', figure: 'gap' }, figure)"
    points = "clueline.plot('gap')._fullData.map((trace) => [...trace.x, ...trace.y])"
    board.evaluate(give, {"figure": figure, "animate": False})
    holds(board, points, [[1, 2, 3, 4]])
    moved = figure | {"data": [{"type": "scatter", "x": [1, 2], "y": [3, 1]}]}
    board.evaluate(give, {"figure": moved, "animate": True})
    holds(board, points, [[1, 2, 3, 1]])
