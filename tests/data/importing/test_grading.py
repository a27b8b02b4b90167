"""Answer lines: guesses that a moderator would accept, prompt on or reject."""

import pytest

from clueline.data.importing.run_gradings import grade_guesses
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.quizbowl.answer_words import forms, normalise

GUESSES = {
    "Paris": {
        "accept": ["Paris", " paris. ", "PARIS", "the Paris", "Páris", "<b>Paris</b>"],
        "reject": ["Pari", "Paris, Texas", "", None, "error"],
    },
    "Frankenstein [accept The Modern Prometheus; prompt on Shelley's novel]": {
        "accept": ["Frankenstein", "Modern Prometheus", "the modern prometheus"],
        "prompt": ["Shelley's novel", "Shelley\u2019s novel"], "reject": ["Shelley", "accept The Modern Prometheus"],
    },
    "war [accept French and British war or Anglo-French war]": {
        "accept": ["war", "French and British war", "Anglo French War", "French & British war"], "reject": ["British war"],
    },
    "Bach (accept J. S. Bach) (the composer)": {
        "accept": ["Bach", "J.S. Bach", "Bach (the composer)"], "reject": ["the composer"],
    },
    "The Wire [accept The Corner until “Baltimore” is read; accept Simon's show before it is mentioned; reject “The Shield”]": {
        "accept": ["the wire", "The Corner", "Simon's show"], "reject": ["The Shield", "Baltimore"],
    },
    "The Day After Tomorrow [or The Day Before Yesterday]": {
        "accept": ["Day After Tomorrow", "the day before yesterday"], "reject": ["The Day"],
    },
    "Ångström unit": {"accept": ["angstrom unit", "A\u030angstro\u0308m unit"], "reject": ["angstrom"]},
    "東京 [accept Tokyo; do not accept Kyoto]": {"accept": ["東京", "tokyo"], "reject": ["京都", "Kyoto"]},
    "The The": {"accept": ["The The", "the"], "reject": [""]},
    "?": {"reject": ["?", "!", ""]},
    "": {"reject": ["", "anything"]},
}  # fmt: skip


@pytest.mark.parametrize("line", GUESSES)
def test_grade(line):
    parsed = parse_answer_line(line)
    assert {(guess, parsed.grade(guess)) for guesses in GUESSES[line].values() for guess in guesses} == {
        (guess, verdict) for verdict, guesses in GUESSES[line].items() for guess in guesses
    }


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("  A  <i>Tale</i> of\tTwo Cities! ", "tale of two cities"),
        ("an", "an"),
        ("“AT&T”", "at and t"),
        ("It's", "its"),
        ("C++", "c"),
        ("_x_ 1 2", "x 1 2"),
    ],
)
def test_normalise(text, plain):
    assert normalise(text) == plain


def test_forms():
    assert forms("The Wire (TV series)") == {"wire tv series", "wire"}
    assert forms("(none)") == {"none"}


def test_grades_come_with_what_graded_them():
    guesses = [
        ("incremental", "d", "q1", "Rome", "Rome", None, None, None),
        ("incremental", "d", "q1", None, "Rome", None, None, None),
        ("single", "d", "q2", "city", "Rome [prompt on city]", None, None, None),
        ("single", "d", "q3", "x", None, None, None, None),
        ("lifeeval", "s", "m30", "78", None, "male", 30, 1),
        ("lifeeval", "s", "m30", "1e300", None, "male", 30, 1),
        ("lifeeval", "s", "m30", None, None, "male", 30, 1),
    ]
    grades = grade_guesses(guesses).rows()
    assert [row[:3] for row in grades] == [row[1:4] for row in guesses]
    assert [row[3] for row in grades] == pytest.approx([1, 0, 0, None, 0.053226, 0, 0], abs=1e-6)
    assert [row[4] for row in grades] == ["answer", "answer", "prompt", None, "table", "table", "table"]
    assert grade_guesses([]).is_empty()
