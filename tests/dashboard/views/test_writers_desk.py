"""The writer's desk: as the server draws it, and as JSON, with guesses after each sentence and questions as a bundle."""

import json
from contextlib import ExitStack

import pytest

from clueline.dashboard.cache import PLACES, SELF
from clueline.dashboard.uploads import import_process
from clueline.queries.drafts import DraftText, question_draft
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


GUESSES, BUNDLE = "/api/v1/write/guesses", "/api/v1/write/bundle"
QUESTION = {"text": TEXT, "answer": "Frankenstein", "category": "Literature"}


def refused(client, address, body, status):
    answer = client.post(address, **({"data": body} if isinstance(body, str) else {"json": body}))
    assert answer.status_code == status, answer.text
    return answer.get_json()["error"]


@pytest.mark.parametrize("elicitation", ["softmax", "margin"])
def test_guesses_are_those_of_the_query(client, elicitation):
    answer = client.post(GUESSES, json={"text": TEXT, "answer": "Frankenstein", "elicitation": elicitation})
    written = question_draft(DraftText(TEXT, "Frankenstein"), (elicitation,))
    assert answer.status_code == 200
    body = answer.get_json()
    assert (body["words"], body["known"]) == (written.words, ["Frankenstein"])
    assert [clue["text"] for clue in body["clues"]] == [clue.text for clue in written.clues]
    assert [
        (one["model"], one["buzz"], one["guesses"][1]["confidence"], one["guesses"][1]["rule"]) for one in body["guessers"]
    ] == [(one.model, one.buzz, one.guesses[1].confidence, "the answer line has it") for one in written.guessers]


@pytest.mark.parametrize(
    ("body", "status", "code", "reason"),
    [
        ({"text": "word " * 2001}, 400, "too_long", "it can have 2,000"),
        ({"text": "", "answer": "x" * 3000}, 400, "too_long", "answer line has 3,000 characters"),
        ({"text": "x" * 300_000}, 413, "too_large", "larger than 256 KiB"),
        ({"text": 1}, 400, "bad_value", "not as documented: Expected `str`"),
        ({"text": "", "elicitation": "verbal"}, 400, "bad_value", "Invalid enum value 'verbal'"),
        ({"texts": ""}, 400, "bad_value", "unknown field `texts`"),
        ("{", 400, "bad_value", "not as documented"),
    ],
)
def test_a_bad_draft_gets_no_guesses(client, body, status, code, reason):
    error = refused(client, GUESSES, body, status)
    assert error["code"] == code and reason in error["message"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"dataset": "Desk!", "questions": [QUESTION]}, 400, "regex"),
        ({"dataset": "desk", "questions": []}, 400, "length >= 1"),
        ({"dataset": "desk", "questions": [QUESTION] * 101}, 400, "length <= 100"),
        ({"dataset": "desk", "questions": [QUESTION | {"category": "x" * 201}]}, 400, "length <= 200"),
        ({"dataset": "desk", "questions": [QUESTION, {"text": TEXT}]}, 400, "Question 2 has no answer line"),
        ({"dataset": "desk", "questions": [QUESTION | {"text": "x" * 3_000_000}]}, 413, "larger than 2,048 KiB"),
    ],
)
def test_a_bad_dataset_gets_no_bundle(client, body, status, reason):
    assert reason in refused(client, BUNDLE, body, status)["message"]


def test_keys_of_the_address_are_refused(client):
    for address in (GUESSES, BUNDLE):
        assert client.post(f"{address}?text=x", json={}).status_code == 400
        assert client.get(address).status_code == 405


def test_a_bundle_becomes_a_dataset(app_taking_uploads):
    app = app_taking_uploads("open")
    service = app.extensions["clueline"]
    service.import_file = lambda job: import_process.run_job(job, service.store)
    client = app.test_client()
    zipped = client.post(BUNDLE, json={"dataset": "desk", "title": "Desk", "questions": [QUESTION, QUESTION]})
    assert (zipped.status_code, zipped.mimetype) == (200, "application/zip")
    assert zipped.headers["Content-Disposition"] == 'attachment; filename="desk.zip"'
    made = client.post("/api/v1/datasets?filename=desk.zip", data=zipped.data, content_type="application/zip")
    assert made.status_code == 201, made.text
    questions = client.get("/api/v1/questions?dataset=desk").get_json()
    assert [question["question_id"] for question in questions["questions"]] == ["q1", "q2"]


def test_a_full_queue_refuses_at_once(fresh):
    with ExitStack() as stack:
        for number in range(PLACES):
            stack.enter_context(fresh.service.cache.place(SELF, str(number)))
        error = refused(fresh.client, GUESSES, {"text": TEXT}, 503)
    assert error["code"] == "busy"
    assert fresh.client.post(GUESSES, json={"text": TEXT}).status_code == 200
