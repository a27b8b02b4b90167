"""The writer's desk: guessers' answers to a question that is being written, and questions packed as a bundle."""

from __future__ import annotations

from typing import TypeVar

from flask import Response, request

from dashboard.access.identity_and_rights import RequestDenied
from dashboard.access.json_bodies import read_body
from dashboard.registry.addresses import api, document, pairs
from dashboard.registry.responses import attachment_headers, json_response
from dashboard.service import service
from queries.drafts import ELICITATIONS, DraftText, Elicitation, WrittenDataset, draft_bundle, question_draft
from queries.selection import read_parameters
from queries.selection.view_parameters_base import NoParameters

MAX_DRAFT_BYTES = 256 * 1024  # bytes of the body of one question
MAX_BUNDLE_BYTES = 2 * 2**20  # bytes of the body of a bundle's questions

T = TypeVar("T")


class _Guesses(DraftText, frozen=True):
    """The body of ``POST /api/v1/write/guesses``."""

    elicitation: Elicitation = ELICITATIONS[0]


@api.post("/api/v1/write/guesses")
def post_write_guesses() -> Response:
    """What the guessers of Pyramid answer after each sentence of a question that is being written: `{"text", "answer",
    "elicitation"}`. `answer` is an answer line, which can be blank; guesses are graded by it, with the rule that decided.
    `elicitation` is `softmax` (the default) or `margin`. `buzz` is the first clue at which a guesser's confidence exceeds its
    best threshold on Pyramid; `warnings` name guessers that are right too early, or confident and wrong. At most 2,000 words in
    100 sentences; 413 for a body of more than 256 KiB. Nothing is stored.
    """
    body = _read(_Guesses, MAX_DRAFT_BYTES)
    draft = DraftText(body.text, body.answer)
    return json_response(service().compute_alone(question_draft, draft, (body.elicitation,)))


@api.post("/api/v1/write/bundle")
def post_write_bundle() -> Response:
    """Questions as a bundle, a zip that `POST /api/v1/datasets` and `python -m dashboard import` accept: `{"dataset", "title",
    "questions": [{"text", "answer", "category", "subcategory"}]}`. Each sentence is a clue. The runs in it are the answers of the
    guessers of Pyramid. At most 100 questions and 20,000 words; 413 for a body of more than 2 MiB. Nothing is stored.
    """
    body = _read(WrittenDataset, MAX_BUNDLE_BYTES)
    bundle = service().compute_alone(draft_bundle, body)
    return Response(bundle, mimetype="application/zip", headers=attachment_headers(f"{body.dataset}.zip"))


def _read(kind: type[T], largest: int) -> T:
    """Return the body of a request. Raises ``BadRequest`` or ``RequestDenied``."""
    read_parameters(pairs(), NoParameters)
    if len(request.get_data()) > largest:
        raise RequestDenied(413, "too_large", f"The body is larger than {largest // 1024:,} KiB, the limit of this address.")
    return read_body(kind)


document("POST /api/v1/write/guesses", post_write_guesses, NoParameters)
document("POST /api/v1/write/bundle", post_write_bundle, NoParameters)
