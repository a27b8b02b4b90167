"""Sessions in which people answer questions: a list of them, and an address that creates new ones."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Response

from dashboard.access.json_bodies import read_body
from dashboard.api.endpoint_decorators import api, document, get, pairs
from dashboard.api.http_responses import json_response
from dashboard.expiry_dates import read_end
from dashboard.service import service
from data.play_sessions.session_definition import ModeKey, SessionError
from data.play_sessions.session_modes import DEFAULT
from data.play_sessions.sessions import (
    CONSENT,
    MAX_CHECKS,
    MAX_PLAYERS,
    MAX_QUESTIONS,
    SessionSummary,
    create_session,
    list_sessions,
)
from data.store.audit import Audit
from queries.selection import read_parameters
from queries.selection.parameter_kinds import BadRequest
from queries.selection.view_parameters_base import NoParameters

MAX_CONSENT_LENGTH = 10_000  # characters


class Sessions(msgspec.Struct):
    """Answer of ``GET /api/v1/sessions``."""

    sessions: list[SessionSummary]


class _NewSession(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /api/v1/sessions``; see ``create_session`` for the fields."""

    dataset: str
    until: str
    mode: ModeKey = DEFAULT
    questions: Annotated[int, msgspec.Meta(ge=1, le=MAX_QUESTIONS)] = 20
    attention_checks: Annotated[int, msgspec.Meta(ge=0, le=MAX_CHECKS)] = 0
    players: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLAYERS)] = 30
    consent: Annotated[str, msgspec.Meta(max_length=MAX_CONSENT_LENGTH)] = ""


class Invitation(msgspec.Struct):
    """The link of a new session, an address on this server. It cannot be shown again."""

    link: str


@get("/api/v1/sessions", NoParameters, right="upload")
def get_sessions(parameters: NoParameters) -> Response:
    """Sessions in which people answer questions, latest end first, with how many people joined, including those who erased their
    answers since, and how many answers there are. Only datasets that the reader may read are included. Needs the same rights as
    an upload. Links are not included, because the store keeps only their hashes.
    """
    known = service().snapshot().states
    summaries = list_sessions(service().store.register.play_log())
    return json_response(Sessions([summary for summary in summaries if summary.dataset in known]))


@api.post("/api/v1/sessions")
def post_sessions() -> Response:
    """Create a session: `{"dataset", "until", "mode", "questions", "attention_checks", "players", "consent"}`; the first two are
    required. `until` is a date or a time, UTC; `mode` is `every-clue`, `race`, `estimate` or `vote`. The response, 201, has the
    link for the players, which cannot be shown again. 409 if too many sessions have not ended yet. Needs the same rights as an
    upload.
    """
    by = service().access.writer()
    read_parameters(pairs(), NoParameters)
    new = read_body(_NewSession)
    try:
        until = read_end(new.until)
    except ValueError as error:
        raise BadRequest("bad_value", f"until: {error}.", "until") from None
    snapshot, store = service().snapshot(), service().store
    consent = new.consent.strip() or CONSENT
    try:
        secret = create_session(
            store.register.play_log(),
            snapshot,
            new.dataset,
            new.questions,
            new.players,
            until,
            consent,
            new.mode,
            new.attention_checks,
        )
    except SessionError as error:
        message = f"{str(error)[0].upper()}{str(error)[1:]}."
        if error.code == "too_many":
            raise BadRequest(error.code, message, status=409) from None
        field = "mode" if new.dataset in snapshot.states else "dataset"
        raise BadRequest("unknown_value", message, field, list(snapshot.states) if field == "dataset" else []) from None
    Audit(store.register).record("invited_players", by, dataset=new.dataset)
    return json_response(Invitation(f"/play#{secret}"), 201)


document("POST /api/v1/sessions", post_sessions, NoParameters)
