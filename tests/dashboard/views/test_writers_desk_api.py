"""The writer's desk as JSON: guesses after each sentence, questions as a bundle, and refused requests."""

from contextlib import ExitStack

import pytest

from dashboard.app import create_app
from dashboard.cache import PLACES, SELF
from dashboard.settings import Settings
from dashboard.uploads import import_process
from queries.drafts import DraftText, question_draft

GUESSES, BUNDLE = "/api/v1/write/guesses", "/api/v1/write/bundle"
TEXT = "It was written in a wet summer. Name this novel by Mary Shelley in which Victor stitches a giant together."
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
        assert client.get(address).status_code == 404


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


def test_where_reading_needs_a_token_so_does_the_desk(copied):
    client = create_app(Settings(store=str(copied), workers=1, read="token")).test_client()
    assert refused(client, GUESSES, {"text": TEXT}, 401)["code"] == "no_token"
    assert refused(client, BUNDLE, {}, 401)["code"] == "no_token"


def test_a_full_queue_refuses_at_once(fresh):
    with ExitStack() as stack:
        for number in range(PLACES):
            stack.enter_context(fresh.service.cache.place(SELF, str(number)))
        error = refused(fresh.client, GUESSES, {"text": TEXT}, 503)
    assert error["code"] == "busy"
    assert fresh.client.post(GUESSES, json={"text": TEXT}).status_code == 200
