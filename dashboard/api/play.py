"""Sessions in which people answer questions. The secrets of session and player are in bodies, so that no log has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, TypeVar

import msgspec
from flask import Response, request

from dashboard.api.blueprint import api, document, pairs
from dashboard.api.http_responses import json_response
from dashboard.composite_queries import question_with_buzzpoints
from dashboard.service import service
from data.play_sessions.mode_interface import Entry, QuestionResult
from data.play_sessions.race_polling import read_words
from data.play_sessions.session_definition import SessionError
from data.play_sessions.session_modes import MODES
from data.play_sessions.sessions import (
    add_answer,
    clock,
    digest,
    join,
    read_results,
    read_session,
    read_state,
)
from data.store.audit import Audit
from data.store.play_log import PlayLog
from queries.buzzing import Rules
from queries.buzzing.buzz_policy import default_curve
from queries.player_result import PlayedClue, model_runs, player_result
from queries.selection import Selection, read_parameters
from queries.selection.parameter_kinds import BadRequest
from queries.selection.parameters import NoParameters

STATUS = {"unknown_session": 404, "ended": 410, "full": 403, "not_joined": 403, "no_step": 409, "bad_answer": 400}
Secret = Annotated[str, msgspec.Meta(min_length=16, max_length=64)]
PlayerSecret = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
BY_THE_SERVER = {"counted", "due", "left", "received_ms", "timed_out"}  # parts of an entry


class _Player(msgspec.Struct, forbid_unknown_fields=True):
    session: Secret
    player: PlayerSecret


T = TypeVar("T", bound=_Player)


class _Join(_Player):
    agreed: bool = False


class _Step(_Player, forbid_unknown_fields=False):
    """What all answers have; the mode of the session says what else."""

    step: Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class _Words(_Player):
    step: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    have: Annotated[int, msgspec.Meta(ge=0, le=100_000)]


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
    hexadecimal digits that the player's browser chose. With `agreed: true` the player joins. The answer has the clues or words
    so far and, between two questions, the one before with the grades. 404 for a session that there is not, 410 when it has
    ended, 403 when it is full.
    """
    body = _read(_Join)
    with _problems():
        change = join if body.agreed else read_state
        return json_response(change(_log(), body.session, body.player))


@api.post("/api/v1/play/answers")
def post_play_answers() -> Response:
    """Logs what a player says at a step: `{"session", "player", "step"}`, with `shown_ms`, `round_trip_ms` and `clock_ms` as the
    browser measured them, and what the mode asks for. `confidence` is from 0 to 100. `every-clue`: `guess`, `confidence`, `buzz`.
    `race`: each question has a step for its start (`pace`, words a minute), the buzz (`word`, how many were shown; null for
    none), the answer (`guess`, `confidence`), and another one to a prompt. `estimate`: `age`, `confidence`. `vote`: `choice`,
    `confidence`. A step that has an answer keeps it, so that a request can be sent again. The answer is what the player sees
    next. 409 for a step that was not shown yet.
    """
    body = _read(_Step)
    with _problems():
        session = read_session(_log(), body.session)
        entry = _entry(MODES[session.mode].entry_type(body.step))
        return json_response(add_answer(_log(), body.session, body.player, body.step, entry))


@api.post("/api/v1/play/words")
def post_play_words() -> Response:
    """The words of a race that are due by now and that the player does not have: `{"session", "player", "step", "have"}`, with
    the step of the buzz and the number of words that the browser has. `left_ms` says how long a buzz is taken, once the last
    word is there; `over`, that none is any more. 409 where the reading has not begun.
    """
    body = _read(_Words)
    with _problems():
        return json_response(read_words(_log(), body.session, body.player, body.step, body.have))


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
    if service().revision(dataset) and not results[-1].is_check:
        runs = service().ask(model_runs, Selection(dataset))
        with suppress(BadRequest):  # the dataset has no such question any more
            models = _model_answers(Selection(dataset, run=tuple(runs)), results[-1].question_id) if runs else []
    return json_response(PlayedModels(results[-1].question_id, models))


@api.post("/api/v1/play/result")
def post_play_result() -> Response:
    """How well calibrated a player was in the questions that are over, beside the models on the same clues: `{"session",
    "player"}`. 409 before the first question is answered.
    """
    body = _read(_Player)
    with _problems():
        dataset, finished = _finished(body)
        results = [result for result in finished if not result.is_check]
        if not any(result.answers for result in results):
            raise SessionError("no_step", "no question is answered yet")
    answers = tuple(
        PlayedClue(result.question_id, answer.clue, answer.confidence, answer.correct)
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
    asked = question_with_buzzpoints(selection, facets, question_id, Rules(curve=default_curve(facets)))
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
    service().access.check_playing(digest(body.player), reading=kind is _Words)
    return body


def _entry(kind: type[Entry]) -> Entry:
    """What the body says at a step, beside what all steps have. Raises ``BadRequest``."""
    fields = {
        name: value for name, value in msgspec.json.decode(request.get_data()).items() if name not in _Step.__struct_fields__
    }
    try:
        if given := sorted(fields.keys() & BY_THE_SERVER):
            raise msgspec.ValidationError(f"Object contains unknown field `{given[0]}`")
        if isinstance(fields.get("confidence"), int | float):
            fields["confidence"] /= 100
        if isinstance(fields.get("guess"), str):
            fields["guess"] = " ".join(fields["guess"].split())
        return msgspec.convert(fields | {"received_ms": clock()}, type=kind)
    except msgspec.ValidationError as error:
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
document("POST /api/v1/play/words", post_play_words, NoParameters)
document("POST /api/v1/play/models", post_play_models, NoParameters)
document("POST /api/v1/play/result", post_play_result, NoParameters)
document("POST /api/v1/play/erase", post_play_erase, NoParameters)
