"""Sessions in which people answer questions. The secrets of session and player are in bodies, so that no log has them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import msgspec
from flask import Response, request

from dashboard.api.blueprint import api, document, pairs
from dashboard.api.responses import json_response
from dashboard.service import service
from data.people.sessions import LONGEST_GUESS, Answer, SessionError, add_answer, digest, join, read_session, read_state
from data.store.play_log import PlayLog
from queries.parameters import BadRequest, NoParameters
from queries.selection import read_parameters

T = TypeVar("T")
STATUS = {"unknown_session": 404, "ended": 410, "full": 403, "not_joined": 403, "no_step": 409}
Secret = Annotated[str, msgspec.Meta(min_length=16, max_length=64)]
PlayerSecret = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class _Player(msgspec.Struct, forbid_unknown_fields=True):
    session: Secret
    player: PlayerSecret


class _Join(_Player):
    agreed: bool = False


class _Answer(_Player):
    step: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    guess: Annotated[str, msgspec.Meta(max_length=LONGEST_GUESS)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=100)]
    buzz: bool
    shown_ms: Milliseconds | None = None
    round_trip_ms: Milliseconds | None = None
    clock_ms: Milliseconds | None = None


class Erased(msgspec.Struct):
    """Whether there was a player to erase."""

    erased: bool


@api.post("/api/v1/play")
def post_play() -> Response:
    """What a player of a session sees: `{"session", "player", "agreed"}`. `session` is the secret of the link, `player` 32
    hexadecimal digits that the player's browser chose. With `agreed: true` the player joins. The answer has the clues so far and,
    between two questions, the one before with the grades. 404 for a session that there is not, 410 when it has ended, 403 when
    it is full.
    """
    body = _read(_Join)
    with _problems():
        change = join if body.agreed else read_state
        return json_response(change(_log(), body.session, body.player))


@api.post("/api/v1/play/answers")
def post_play_answers() -> Response:
    """Logs what a player says at a clue: `{"session", "player", "step", "guess", "confidence", "buzz"}`, with `confidence` from 0
    to 100, and `shown_ms`, `round_trip_ms` and `clock_ms` as the browser measured them. A step that has an answer keeps it, so
    that a request can be sent again. The answer is what the player sees next. 409 for a step that was not shown yet.
    """
    body = _read(_Answer)
    answer = Answer(
        " ".join(body.guess.split()),
        body.confidence / 100,
        body.buzz,
        body.shown_ms,
        body.round_trip_ms,
        body.clock_ms,
        time.time() * 1000,
    )
    with _problems():
        return json_response(add_answer(_log(), body.session, body.player, body.step, answer))


@api.post("/api/v1/play/erase")
def post_play_erase() -> Response:
    """Erases a player with all answers: `{"session", "player"}`. Runs that are collected later do not have them."""
    body = _read(_Player)
    with _problems():
        read_session(_log(), body.session)
        return json_response(Erased(_log().erase(digest(body.session), digest(body.player))))


def _log() -> PlayLog:
    return service().store.register.play_log()


def _read(kind: type[T]) -> T:
    """The body of a request of this server's own page. Raises ``BadRequest``."""
    service().access.check_same_site()
    read_parameters(pairs(), NoParameters)
    try:
        return msgspec.json.decode(request.get_data(), type=kind)
    except msgspec.MsgspecError as error:
        raise BadRequest("bad_value", f"The body is not as documented: {error}.") from None


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except SessionError as error:
        message = str(error)
        raise BadRequest(error.code, f"{message[0].upper()}{message[1:]}.", status=STATUS[error.code]) from None


document("POST /api/v1/play", post_play, NoParameters)
document("POST /api/v1/play/answers", post_play_answers, NoParameters)
document("POST /api/v1/play/erase", post_play_erase, NoParameters)
