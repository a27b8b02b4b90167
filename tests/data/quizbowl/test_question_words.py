"""What counts as a word of a question, and how its text is split into clues."""

import time

import pytest

from clueline.dashboard.ui.html import markup
from clueline.dashboard.views.question.text import clue_text
from clueline.data.quizbowl.question_words import count_words, plain_text, sentences, words, words_in_power
from clueline.queries.question import question
from clueline.queries.selection import Selection
from tests.helpers import bundle_factory as bundles

COUNTS = {
    "": 0, "  \n ": 0, "one": 1, "one two\tthree\n four": 4, "— ... a": 3,
    "New&nbsp;York": 1, "New\u00a0York is": 2, "em\u2003space": 2, "1\u202f000 men": 2,
    "<b>This</b> <i>old man</i>": 3, "<em>x</em> <multimodal type='img' hash='a b'> y": 2, "a <b> b": 2, "4 < 5 > 3": 5,
    "early (*) late": 2, "power(*) mark": 2, "a (+) b [*] c": 3,
    "Chloe (“KLOH-ee”) ran": 2, 'Chloe ("KLOH ee lou"), ran': 2, "(see below) ran": 3, 'an unclosed ("guide goes on': 5,
    "[emphasize] this": 1, "[Emphasise] this [read slowly] now": 2, "[read slowly to the end of the sentence] a b": 2,
    "this (emphasize) that": 2, "the [sic] text [1]": 4, "<b>[emphasize]</b> this": 1, "x (“a) b": 3, '["KAY"] b': 1,
    "東京 タワー": 2,
}  # fmt: skip


@pytest.mark.parametrize("text", COUNTS)
def test_words_that_are_read(text):
    assert count_words(text) == COUNTS[text]
    assert count_words(plain_text(text)) == COUNTS[text] or "<b> b" in text


def test_words_know_their_place_in_the_text():
    text = "A <i>long\u00a0day</i> (“DAY”) (*)  ends"
    assert [text[word.start : word.end] for word in words(text)] == [word.text for word in words(text)]
    assert [word.text for word in words(text) if not word.counts] == ["(“DAY”)", "(*)"]


def test_a_file_can_count_words_that_are_not_read():
    assert sum(word.counts for word in words("Chloe (“KLOH-ee”) ran", stated=3)) == 3
    assert sum(word.counts for word in words("Chloe (“KLOH-ee”) ran", stated=7)) == 2


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("one two (*) three (*) four", 2), ("one two(*) three", 2), ("(“ONE”) one <b>(*)</b> two", 1), ("one [*] two", 1),
        ("(*) one", 0), ("one two", None), ("", None),
    ],
)  # fmt: skip
def test_words_before_the_power_mark(text, power):
    assert words_in_power(text) == power


def test_a_file_that_counts_guides_counts_them_in_power():
    assert words_in_power("one (“WON”) two (*) three", stated=5) == 3


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("[read slowly] Ann ran. Bob sat.", ["[read slowly] Ann ran.", "Bob sat."]),
        ("Ann ran. [Pause.] Bob sat. (“BOB. SAT.”)", ["Ann ran.", "[Pause.] Bob sat. (“BOB. SAT.”)"]),
        ("Ann (“Ay. Ann! Ay”) ran. Bob sat.", ["Ann (“Ay. Ann! Ay”) ran.", "Bob sat."]),
        ("(*)", ["(*)"]), ("", []),
        ("He was born in St. Louis. He died in London.", ["He was born in St. Louis.", "He died in London."]),
        ("D. H. Lawrence wrote it. Who?", ["D. H. Lawrence wrote it.", "Who?"]),
        ("In Washington, D.C. it rains. It pours!", ["In Washington, D.C. it rains.", "It pours!"]),
        ("Dr. Rieux met Mrs. Dalloway at 3.14 p.m. today. Name him.",
         ["Dr. Rieux met Mrs. Dalloway at 3.14 p.m. today.", "Name him."]),
        ("One sentence without an end", ["One sentence without an end"]),
        ('She said "Stop." Then she left.', ['She said "Stop."', "Then she left."]),
    ],
)  # fmt: skip
def test_sentences_have_words(text, split):
    assert sentences(text) == split
    assert sum(map(count_words, split)) == count_words(text)


@pytest.mark.parametrize("part", ["<", "(", "[", '("', "(“", "[“a", "<a", "<a ", "( ", "[read ", "a ", "\u00a0", '"', "&", ". A"])
def test_long_texts_take_linear_time(part):
    text = part * (200_000 // len(part))
    start = time.process_time()  # CPU time, because the machine may be busy
    words(text)
    plain_text(text)
    assert time.process_time() - start < 1


def test_ticks_are_at_the_words_of_buzzes(store, folder):
    """They distinguish models from people."""
    questions = 'question_id,text,answer\nq1,"Ann (“AN”) saw <i>the&nbsp;sea</i>. (*) She [emphasize] wept.",Ann\n'
    exposures = "question_id,match_id,team,team_kind\nq1,m1,Ash,human\nq1,m1,Birch,human\nq1,m2,M1,model\n"
    buzzes = "question_id,match_id,team,word,correct\nq1,m1,Ash,1,0\nq1,m1,Birch,3,1\nq1,m2,M1,5,1\n"
    bundles.put(store, bundles.write(folder, questions=questions, clues=None, exposures=exposures, buzzes=buzzes))
    shown = question(store.snapshot(), Selection("toy"), "q1")
    assert [(clue.text, clue.word_end) for clue in shown.clues] == [
        ("Ann (“AN”) saw <i>the&nbsp;sea</i>.", 3), ("(*) She [emphasize] wept.", 5),
    ]  # fmt: skip
    assert [(buzz.team, buzz.word) for buzz in shown.model_buzzes] == [("M1", 5)]
    first, second = markup(clue_text(shown, 0, quizbowl=True)).split("<li")[1:]
    assert first.index("saw") < first.index("Ash: incorrect buzz at word 2") < first.index("<i>the\xa0sea</i>")
    assert "Birch" not in first and 'class="tick wrong"' in first
    assert second.index("She") < second.index("Birch: correct buzz at word 4") < second.index("wept")
    assert second.index("wept") < second.index("M1 (model): correct buzz after the end") and 'class="tick right model"' in second
