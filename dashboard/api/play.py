"""Sessions in which people answer questions. The secrets of session and player are in bodies, so that no log has them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, TypeVar

import msgspec
from flask import Response, request

from dashboard.api.blueprint import api, document, pairs
from dashboard.api.http_responses import json_response
from dashboard.composite_queries import question_with_buzzpoints
from dashboard.service import service
from data.people.sessions import (
    LONGEST_GUESS,
    Answer,
    QuestionResult,
    SessionError,
    add_answer,
    digest,
    join,
    read_results,
    read_session,
    read_state,
)
from data.store.audit import Audit
from data.store.play_log import PlayLog
from queries.buzzing import Rules
from queries.buzzing.buzz_policy import usual_curve
from queries.parameter_kinds import BadRequest
from queries.parameters import NoParameters
from queries.player_result import PlayedClue, model_runs, player_result
from queries.selection import Selection, read_parameters

STATUS = {"unknown_session": 404, "ended": 410, "full": 403, "not_joined": 403, "no_step": 409}
Secret = Annotated[str, msgspec.Meta(min_length=16, max_length=64)]
PlayerSecret = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class _Player(msgspec.Struct, forbid_unknown_fields=True):
    session: Secret
    player: PlayerSecret


T = TypeVar("T", bound=_Player)


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


class ModelGuess(msgspec.Struct):
    """What a model guessed at a clue; ``correct`` is in [0, 1]."""

    clue: int
    guess: str | None
    confidence: float
    correct: float


class ModelAnswers(msgspec.Struct):
    """What a model said to a question; ``buzz`` is the clue at which it would have answered, None for nowhere."""

    model: str
    elicitation: str
    buzz: int | None
    guesses: list[ModelGuess]


class PlayedModels(msgspec.Struct):
    """Answer of ``/api/v1/play/models``."""

    question_id: str
    models: list[ModelAnswers]


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


@api.post("/api/v1/play/models")
def post_play_models() -> Response:
    """What models said to the question that a player has just finished: `{"session", "player"}`. `buzz` is the clue at which the
    model itself would have answered or, where it does not say, the first one above the confidence that wins most on the dataset.
    409 before the first question is over.
    """
    body = _read(_Player)
    with _problems():
        dataset, results = _finished(body)
    models: list[ModelAnswers] = []
    if service().revision(dataset):
        runs = service().ask(model_runs, Selection(dataset))
        with suppress(BadRequest):  # the dataset has no such question any more
            models = _model_answers(Selection(dataset, run=tuple(runs)), results[-1].question_id) if runs else []
    return json_response(PlayedModels(results[-1].question_id, models))


@api.post("/api/v1/play/result")
def post_play_result() -> Response:
    """How well calibrated a player was in the questions that are over, beside the models on the same clues: `{"session",
    "player"}`. 409 before the first question is over.
    """
    body = _read(_Player)
    with _problems():
        dataset, results = _finished(body)
    answers = tuple(
        PlayedClue(result.question_id, answer.clue, answer.confidence, answer.verdict == "accept")
        for result in results
        for answer in result.answers
    )
    return json_response(service().ask(player_result, Selection(dataset), answers))


def _finished(body: _Player) -> tuple[str, list[QuestionResult]]:
    """The dataset of a session, which this request may read from now on, and the questions that a player has finished."""
    dataset = read_session(_log(), body.session).dataset
    results = read_results(_log(), body.session, body.player)
    if not results:
        raise SessionError("no_step", "no question is over yet")
    service().read_only(dataset)
    return dataset, results


def _model_answers(selection: Selection, question_id: str) -> list[ModelAnswers]:
    facets = service().facets(selection.dataset)
    asked = question_with_buzzpoints(selection, facets, question_id, Rules(curve=usual_curve(facets)))
    answers = []
    for run in asked.runs:
        states_buzz = any(answer.buzz is not None for answer in run.clues)
        buzz = run.own_buzz() if states_buzz else run.buzzpoint.clue if run.buzzpoint else None
        guesses = [
            ModelGuess(answer.clue, answer.guess, answer.confidence, answer.correct)
            for answer in run.one_per_clue()
            if not answer.failed
        ]
        answers.append(ModelAnswers(run.model, run.elicitation, buzz, guesses))
    return answers


@api.post("/api/v1/play/erase")
def post_play_erase() -> Response:
    """Erases a player with all answers: `{"session", "player"}`. Runs that are collected later do not have them."""
    body = _read(_Player)
    with _problems():
        dataset = read_session(_log(), body.session).dataset
        erased = Erased(_log().erase(digest(body.session), digest(body.player)))
    if erased.erased:
        Audit(service().store.register).record("erased_answers", "player", dataset=dataset)  # without an address
    return json_response(erased)


def _log() -> PlayLog:
    return service().store.register.play_log()


def _read(kind: type[T]) -> T:
    """The body of a request of this server's own page. Raises ``BadRequest`` or ``Denied``."""
    service().access.check_same_site()
    read_parameters(pairs(), NoParameters)
    try:
        body = msgspec.json.decode(request.get_data(), type=kind)
    except msgspec.MsgspecError as error:
        raise BadRequest("bad_value", f"The body is not as documented: {error}.") from None
    service().access.check_playing(digest(body.player))
    return body


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except SessionError as error:
        message = str(error)
        raise BadRequest(error.code, f"{message[0].upper()}{message[1:]}.", status=STATUS[error.code]) from None


document("POST /api/v1/play", post_play, NoParameters)
document("POST /api/v1/play/answers", post_play_answers, NoParameters)
document("POST /api/v1/play/models", post_play_models, NoParameters)
document("POST /api/v1/play/result", post_play_result, NoParameters)
document("POST /api/v1/play/erase", post_play_erase, NoParameters)
