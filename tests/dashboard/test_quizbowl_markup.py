"""Markup of quizbowl questions is rendered, is never shown raw, and never reaches the page as HTML."""

import re
import time

import pytest
from dash import html

from dashboard.ui.html import markup
from dashboard.ui.quizbowl import draw_text, without_markup
from dashboard.views.question.text import clue_text
from data.store import open_store
from queries.question import question
from queries.selection import Selection
from tests.helpers import bundle_factory as bundles


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
