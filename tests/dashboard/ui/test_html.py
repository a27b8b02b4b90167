"""Parts of a page as HTML: tables, banners, markup of quizbowl questions, and what callbacks need as components."""

import re
import time
from operator import itemgetter
from types import SimpleNamespace

import msgspec
import pytest
from dash import dcc, html

from clueline.dashboard.registry.tables import Table, columns
from clueline.dashboard.ui.drawing import as_json, as_key, divide_page
from clueline.dashboard.ui.frame import simulated_people
from clueline.dashboard.ui.html import content_markup, is_read_only, markup, page_link
from clueline.dashboard.ui.quizbowl import draw_text, without_markup
from clueline.dashboard.ui.table import Body, Cell, PageColumn, bracketed, html_table, interval
from clueline.dashboard.views.question.text import clue_text
from clueline.data.store import open_store
from clueline.queries.question import question
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets
from tests.helpers import bundle_factory as bundles

SLOPES = Table("", lambda answer: answer, columns("run", "slope", "questions", "low", "high"))
ROWS = [
    SimpleNamespace(run="a", slope=-0.12345, questions=1200, low=-0.2, high=0.1, missing=None),
    SimpleNamespace(run="b", slope=None, questions=3, low=None, high=None, missing="too few questions"),
]


def test_declared_columns_are_written_in_one_style():
    slope = PageColumn("Slope", "slope", why=lambda row: row.missing)
    text = markup(html_table(["run", slope, "questions"], ROWS, "x", declared=SLOPES))
    assert '<th class="number" scope="col">Slope</th><th class="number" scope="col">Questions</th>' in text
    assert '<th scope="row">a</th><td class="number">−0.123</td><td class="number">1,200</td>' in text
    assert '<td class="number" title="None, because too few questions">–</td>' in text


def test_an_interval_has_two_ends_or_a_reason():
    text = markup(html_table(["run", interval(why=lambda row: row.missing)], ROWS, "x", declared=SLOPES))
    assert "[−0.200, 0.100]" in text and 'title="None, because too few questions">–</td>' in text
    assert bracketed(0.5, 0.25, 0.75) == "0.500 [0.250, 0.750]" and bracketed(0.5, None, None) == "0.500"


def test_a_cell_has_its_own_class_tooltip_and_attributes():
    cell = Cell("✓", "right", "mark", {"data-key": "k"})
    text = markup(html_table([PageColumn("Run", itemgetter(0)), PageColumn("Mark", lambda row: cell)], [("a",)], "x"))
    assert '<td class="mark" data-key="k" title="right">✓</td>' in text


def test_a_group_of_rows_has_a_line_above_unless_it_is_empty():
    bodies = [Body([("a", 1)]), Body([("b", 2)], "Not ranked"), Body([], "Nobody")]
    text = markup(html_table([PageColumn("Run", itemgetter(0)), None, PageColumn("Rank", itemgetter(1))], bodies, "x"))
    assert text.count("<tbody") == 2 and '<th colspan="2" scope="rowgroup">Not ranked</th>' in text and "Nobody" not in text


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


def drawn(text):
    return markup(html.P(draw_text(text))).removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b><u>Walt Disney</u></b> World", "<u><b>Walt Disney</b></u> World"),
        ("<B>one <i class='x'>two</B> three</i>", "<b>one </b><i><b>two</b></i><i> three</i>"),
        ("_Apollo_ missions", "<u>Apollo</u> missions"), ("__**Ann**__ or __Bob__", "<u><b>Ann</b></u> or <u>Bob</u>"),
        ("**power** word", "<b>power</b> word"), ("H<sub>2</sub>O &amp; D<sub>2</sub>O", "H<sub>2</sub>O &amp; D<sub>2</sub>O"),
        ("left <b>open", "left <b>open</b>"), ("never opened</b>", "never opened"),
        ("one<br/>two <span>three</span>", "one two three"),
        ("a_b_c, x_1 and ____", "a_b_c, x_1 and ____"), ("2 < 3 and <z> 5 > 4", "2 &lt; 3 and &lt;z&gt; 5 &gt; 4"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<b onclick=alert(1)>x</b>", "<b>x</b>"), ("(*) and *one*", "(*) and *one*"),
        ("&lt;img src=x onerror=alert(1)&gt;", "&lt;img src=x onerror=alert(1)&gt;"),
    ],
)  # fmt: skip
def test_known_markup_is_drawn(text, expected):
    assert drawn(text) == expected
    assert re.sub(r"<[^>]*>", "", drawn(text)) == markup(html.P(without_markup(text)))[3:-4]


@pytest.mark.parametrize(
    "text", ["<b " * 50_000, "_a " * 50_000, "__**" * 50_000, "&" * 100_000, "<b>" * 20_000 + "x", "_" * 100_000]
)
def test_hostile_markup_takes_linear_time(text):
    begun = time.process_time()
    draw_text(text)
    assert time.process_time() - begun < 5


def test_styles_continue_after_a_buzz_mark(tmp_path):
    store = open_store(tmp_path / "store")
    questions = 'question_id,text,answer\nq1,"See <i>the old sea</i> now.",_Ann_\n'
    buzzes = "question_id,match_id,team,word,correct\nq1,m1,Ash,2,1\n"
    bundles.put(store, bundles.write(tmp_path / "toy", questions=questions, clues=None, buzzes=buzzes))
    shown = question(store.snapshot(), Selection("toy"), "q1")
    text = markup(clue_text(shown, 0, quizbowl=True))
    assert re.search(r"See <i>the old</i> <span[^>]*>\+</span><i>sea</i> now\.", text), text
    raw = markup(clue_text(shown, 0, quizbowl=False))
    assert "&lt;i&gt;the old" in raw


@pytest.mark.parametrize(("clues", "words", "flows"), [(12, 3, True), (8, 3, False), (12, 9, False)])
def test_many_short_clues_are_shown_as_running_text(tmp_path, clues, words, flows):
    store = open_store(tmp_path / "store")
    lines = [f"q1,{place},{' '.join(['word'] * words)}\n" for place in range(clues)]
    bundle = bundles.write(
        tmp_path / "toy", questions="question_id,answer\nq1,Ann\n", clues=f"question_id,clue,text\n{''.join(lines)}"
    )
    bundles.put(store, bundle)
    text = markup(clue_text(question(store.snapshot(), Selection("toy"), "q1"), 0, quizbowl=True))
    assert ('class="clues flowing"' in text) == flows and text.count("<li") == clues


FACETS = Facets(
    dataset="toy", title="Toy", kind="incremental", simulated=True, note="The teams are simulated.", questions=2, human_teams=3,
    longest=3, values={}, difficulty=None, difficulty_source=None, runs=(), withdrawn=("b",), people_imported=True,
    human_collections=(("c", "People, 9 players"), ("b", "People, 8 players"), ("a", "People, 4 players")),
)  # fmt: skip


def test_players_of_a_collection_are_not_called_simulated():
    alone = msgspec.structs.replace(FACETS, people_imported=False, withdrawn=("c",))
    names = {
        "": None, "imported": None, "a": "People, 4 players", "b": "People, 8 players", "c": "People, 9 players",
    }  # fmt: skip
    for people, name in names.items():
        chosen = FACETS.human_collection(people)
        assert (chosen and chosen[1]) == name, people
        chip = simulated_people(Selection("toy", people=people), FACETS)
        assert (chip is None) == (name is not None)
        assert chip is None or "The teams are simulated." in str(content_markup(chip))
    assert alone.human_collection("") == ("b", "People, 8 players")  # the newest that is not withdrawn
    assert simulated_people(Selection("toy"), msgspec.structs.replace(FACETS, simulated=False)) is None
