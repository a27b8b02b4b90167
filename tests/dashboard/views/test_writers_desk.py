"""The writer's desk as the server draws it."""

import json

import pytest

from tests.helpers.browser_bundles import IMAGE
from tests.helpers.drawn_pages import sent

TEXT = "It was written in a wet summer. Name this novel by Mary Shelley in which Victor stitches a giant together."


def desk(app, text="", answer="", query=""):
    """Return the drawing of a draft, and its text."""
    drawing = sent(app, "/write", query, page=False, draft={"text": text, "answer": answer})
    return drawing, "\n".join(drawing["fragments"].values())


def test_the_guesses_of_the_guessers_are_drawn(app):
    drawing, text = desk(app, TEXT, "Frankenstein")
    assert "2 sentences, 20 words." in text and "Right: the answer line has it." in text
    lines = [trace for trace in drawing["figures"]["draft"]["data"] if trace["mode"] == "lines+markers"]
    assert [trace["name"] for trace in lines] == ["TF-IDF words", "TF-IDF characters", "BM25", "LSA 64"]
    assert {trace["marker"]["symbol"][1] for trace in lines} == {"circle"} and {len(trace["y"]) for trace in lines} == {2}
    margin, _ = desk(app, TEXT, "Frankenstein", "confidence_from=margin")
    assert margin["figures"]["draft"]["data"][0]["y"] != lines[0]["y"]


def test_every_draft_has_the_same_structure(app):
    """The elements then stay in place while somebody types, and only differences are updated."""
    drafts = [
        ("", ""),
        (TEXT, ""),
        (TEXT, "Frankenstein"),
        (TEXT, "Dracula"),
        ("word " * 2001, ""),
        (TEXT, "x" * 2001),
        ("🦉", "a"),
    ]
    assert len({desk(app, *draft)[0]["outline"] for draft in drafts}) == 1


@pytest.mark.parametrize(
    ("text", "answer", "words"),
    [
        ("", "", "Type a question."),
        (TEXT, "", "Type the answer line as well"),
        (TEXT, "Moby-Dick", "This answer line accepts none of the 192 entries"),
        (TEXT, "Dracula", "Misleading: LSA 64 is"),
        (f"{TEXT.split('. ')[1]} {TEXT} {TEXT}", "Frankenstein", "Too early: LSA 64 is"),
        ("word " * 2001, "", "The text has 2,001 words; it can have 2,000."),
    ],
)
def test_it_says_what_to_change_in_the_draft(app, text, answer, words):
    assert words in desk(app, text, answer)[1]


def test_what_is_typed_is_never_markup(app):
    drawing, text = desk(app, f"{IMAGE} and {TEXT}", f"{IMAGE} [accept {IMAGE * 20}]")
    assert IMAGE not in text and IMAGE not in json.dumps(drawing["figures"])


def test_a_long_sentence_is_drawn_whole(app):
    word = "x" * 5000
    assert word in desk(app, f"{word} {TEXT}", "Frankenstein")[1]


def test_without_uploads_nothing_is_saved_as_a_dataset(app_taking_uploads):
    assert 'data-mode="off"' in desk(app_taking_uploads("off"))[1]
    assert "api-token" in json.dumps(desk(app_taking_uploads("token"))[0])
