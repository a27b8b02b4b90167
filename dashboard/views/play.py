"""Sessions in which people answer questions: their page, and addresses for players and for those who collect the answers."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
from flask import Response, request

from clueline.dashboard.access.rights import is_public
from clueline.dashboard.access.signed_links import read_end
from clueline.dashboard.access.trusted_proxies import client_address
from clueline.dashboard.http.bodies import json_response, read_body
from clueline.dashboard.registry.addresses import accept, api, bad_request, get, pairs, sentence, writer
from clueline.dashboard.registry.composed import question_with_buzzpoints
from clueline.dashboard.service import service
from clueline.dashboard.ui.plain_page import plain_page
from clueline.data.play_sessions import sessions as play_sessions
from clueline.data.play_sessions.mode_interface import Entry, QuestionResult
from clueline.data.play_sessions.session_definition import ModeKey, SessionError
from clueline.data.store.audit import Audit
from clueline.data.store.play_log import PlayLog
from clueline.queries.buzzing import Rules
from clueline.queries.buzzing.parameters import default_curve
from clueline.queries.player_result import PlayedClue, model_runs, player_result
from clueline.queries.selection import Selection, read_parameters
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import NoParameters

STATUS = {
    "unknown_session": 404, "ended": 410, "full": 403, "network_full": 403, "not_invited": 403, "not_joined": 403,
    "no_step": 409, "bad_answer": 400,
}  # fmt: skip
Secret = Annotated[str, msgspec.Meta(min_length=16, max_length=64)]
PlayerSecret = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
BY_THE_SERVER = {"counted", "due", "left", "received_ms", "timed_out"}  # fields of an entry that a client cannot set


class _Player(msgspec.Struct, forbid_unknown_fields=True):
    session: Secret
    player: PlayerSecret


T = TypeVar("T", bound=_Player)


class _Join(_Player):
    agreed: bool = False


class _Step(_Player, forbid_unknown_fields=False):
    """The fields that all answers share. The mode of the session defines the others."""

    step: Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class _Words(_Player):
    step: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    have: Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class Erased(msgspec.Struct):
    """Whether there was a player to erase."""

    erased: bool


class ModelGuess(msgspec.Struct):
    """What a model guessed at a clue. ``confidence`` and ``correct`` are in [0, 1]."""

    clue: int
    guess: str | None
    confidence: float
    correct: float


class ModelAnswers(msgspec.Struct):
    """A model's answers to a question. ``buzz`` is the clue at which it would have answered; None for never."""

    model: str
    elicitation: str
    buzz: int | None
    guesses: list[ModelGuess]


class PlayedModels(msgspec.Struct):
    """Answer of ``/api/v1/play/models``."""

    question_id: str
    models: list[ModelAnswers]


@accept("POST", "/api/v1/play")
def post_play() -> Response:
    """What a player of a session sees: `{"session", "player", "agreed"}`. `session` is the secret in the link; `player` is 32
    hexadecimal digits chosen by the player's browser. With `agreed: true` the player joins. The response has the clues or words
    so far and, between two questions, the previous question with its grades. 404 for an unknown session, 410 when it has ended,
    403 when it is full, or full for the network of the player.
    """
    body = _read(_Join)
    if body.agreed:
        return json_response(play_sessions.join(_log(), body.session, body.player, client_address(request.remote_addr)))
    return json_response(play_sessions.read_state(_log(), body.session, body.player))


@accept("POST", "/api/v1/play/answers")
def post_play_answers() -> Response:
    """Record a player's answer at a step: `{"session", "player", "step"}`, with `shown_ms`, `round_trip_ms` and `clock_ms` as
    measured by the browser, and the fields of the mode. `confidence` is from 0 to 100. `every-clue`: `guess`, `confidence`,
    `buzz`. `race`: each question has a step for its start (`pace`, words a minute), the buzz (`word`, how many words were shown;
    null for no buzz), the answer (`guess`, `confidence`), and another answer after a prompt. `estimate`: `age`, `confidence`.
    `vote`: `choice`, `confidence`. A step keeps its first answer, so a request can safely be sent again. The response is what the
    player sees next. 409 for a step that was not shown yet.
    """
    body = _read(_Step)
    session = play_sessions.read_session(_log(), body.session)
    entry = _entry(play_sessions.MODES[session.mode].entry_type(body.step))
    return json_response(play_sessions.add_answer(_log(), body.session, body.player, body.step, entry))


@accept("POST", "/api/v1/play/words")
def post_play_words() -> Response:
    """The words of a race that are due by now and that the player does not have yet: `{"session", "player", "step", "have"}`,
    where `step` is the step of the buzz and `have` the number of words that the browser has. After the last word, `left_ms` says
    how long a buzz is still accepted, and `over` that it no longer is. 409 if the reading has not begun.
    """
    body = _read(_Words)
    return json_response(play_sessions.words_due_to_player(_log(), body.session, body.player, body.step, body.have))


@accept("POST", "/api/v1/play/models")
def post_play_models() -> Response:
    """Models' answers to the question that a player has just finished: `{"session", "player"}`. `buzz` is the clue at which the
    model said it would answer or, if it does not say, the first clue above the confidence threshold that wins most on the
    dataset. 409 before the first question is over.
    """
    body = _read(_Player)
    dataset, results = _finished(body)
    models: list[ModelAnswers] = []
    if service().revision(dataset) and not results[-1].is_check:
        runs = service().ask(model_runs, Selection(dataset))
        with suppress(BadRequest):  # the question is no longer in the dataset
            models = _model_answers(Selection(dataset, run=tuple(runs)), results[-1].question_id) if runs else []
    return json_response(PlayedModels(results[-1].question_id, models))


@accept("POST", "/api/v1/play/result")
def post_play_result() -> Response:
    """How well calibrated a player was on the questions finished so far, compared with the models on the same clues: `{"session",
    "player"}`. 409 before the first question is answered.
    """
    body = _read(_Player)
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
    """Return the dataset of a session and the questions that a player has finished. Lets this request read the dataset."""
    dataset = play_sessions.read_session(_log(), body.session).dataset
    results = play_sessions.read_results(_log(), body.session, body.player)
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
            if answer.confidence is not None
        ]
        answers.append(ModelAnswers(run.model, run.elicitation, buzz, guesses))
    return answers


@accept("POST", "/api/v1/play/erase")
def post_play_erase() -> Response:
    """Erase a player and all their answers: `{"session", "player"}`. Runs that are collected later leave them out. The place
    stays taken: whoever joins again is a new player, with another order of questions.
    """
    body = _read(_Player)
    dataset = play_sessions.read_session(_log(), body.session).dataset
    record = partial(Audit(service().store.register).record, "erased_answers", "player", dataset=dataset)  # no IP address
    return json_response(Erased(_log().erase(play_sessions.digest(body.session), play_sessions.digest(body.player), record)))


def _log() -> PlayLog:
    return service().store.register.play_log()


def _read(kind: type[T]) -> T:
    """Return the body of a request, which must come from this server's own page. Raises ``BadRequest`` or ``Denied``."""
    service().access.check_same_site()
    read_parameters(pairs(), NoParameters)
    body = read_body(kind)
    service().access.check_playing(play_sessions.digest(body.player), reading=kind is _Words)
    return body


def _entry(kind: type[Entry]) -> Entry:
    """Return the entry that a body adds at a step, without the fields that all steps share. Raises ``BadRequest``."""
    fields = {name: value for name, value in read_body(dict[str, Any]).items() if name not in _Step.__struct_fields__}
    try:
        if given := sorted(fields.keys() & BY_THE_SERVER):
            raise msgspec.ValidationError(f"Object contains unknown field `{given[0]}`")
        confidence = fields.get("confidence")
        if isinstance(confidence, int | float) and 0 <= confidence <= 100:  # anything else is refused below
            fields["confidence"] = confidence / 100
        if isinstance(fields.get("guess"), str):
            fields["guess"] = " ".join(fields["guess"].split())
        return msgspec.convert(fields | {"received_ms": play_sessions.clock()}, type=kind)
    except msgspec.ValidationError as error:
        raise BadRequest("bad_value", f"The body is not as documented: {error}.") from None


@api.errorhandler(SessionError)
def refuse(error: SessionError) -> Response:
    """Answer what a player asks that the session does not allow."""
    return bad_request(BadRequest(error.code, sentence(error), status=STATUS[error.code]))


MAX_CONSENT_LENGTH = 10_000  # characters


class Sessions(msgspec.Struct):
    """Answer of ``GET /api/v1/sessions``."""

    sessions: list[play_sessions.SessionSummary]


class _NewSession(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /api/v1/sessions``; see ``create_session`` for the fields."""

    dataset: str
    until: str
    mode: ModeKey = play_sessions.DEFAULT
    questions: Annotated[int, msgspec.Meta(ge=1, le=play_sessions.MAX_QUESTIONS)] = 20
    attention_checks: Annotated[int, msgspec.Meta(ge=0, le=play_sessions.MAX_CHECKS)] = 0
    players: Annotated[int, msgspec.Meta(ge=1, le=play_sessions.MAX_PLAYERS)] = 30
    consent: Annotated[str, msgspec.Meta(max_length=MAX_CONSENT_LENGTH)] = ""
    personal: bool = False


class Invitation(msgspec.Struct):
    """The link of a new session, an address on this server. It cannot be shown again.

    ``links`` has it or, in a personal session, the link of each player. If the dataset is ``public``, players can look up its
    answers meanwhile.
    """

    link: str
    links: list[str]
    public: bool


@get("/api/v1/sessions", NoParameters, right="upload")
def get_sessions(parameters: NoParameters) -> Response:
    """Sessions in which people answer questions, latest end first, with how many people joined, including those who erased their
    answers since, and how many answers there are. Only datasets that the reader may read are included. Needs the same rights as
    an upload. Links are not included, because the store keeps only their hashes.
    """
    known = service().snapshot().states
    return json_response(Sessions([summary for summary in play_sessions.list_sessions(_log()) if summary.dataset in known]))


@accept("POST", "/api/v1/sessions")
def post_sessions() -> Response:
    """Create a session: `{"dataset", "until", "mode", "questions", "attention_checks", "players", "consent", "personal"}`; the
    first two are required. `until` is a date or a time, UTC; `mode` is `every-clue`, `race`, `estimate` or `vote`. The response,
    201, has the `link` for the players, which cannot be shown again; if `personal`, `links` has one for each player. It says
    whether the dataset is `public`, so that they could look up its answers. 409 if too many sessions have not ended yet. Needs
    the same rights as an upload.
    """
    by = writer()
    new = read_body(_NewSession)
    try:
        until = read_end(new.until)
    except ValueError as error:
        raise BadRequest("bad_value", f"until: {error}.", "until") from None
    snapshot, consent = service().snapshot(), new.consent.strip() or play_sessions.CONSENT
    record = partial(Audit(service().store.register).record, "invited_players", by, dataset=new.dataset)
    try:
        secret = play_sessions.create_session(
            _log(), snapshot, new.dataset, new.questions, new.players, until, consent, new.mode, new.attention_checks,
            new.personal, record,
        )  # fmt: skip
    except SessionError as error:
        if error.code == "too_many":
            raise BadRequest(error.code, sentence(error), status=409) from None
        field = "mode" if new.dataset in snapshot.states else "dataset"
        raise BadRequest("unknown_value", sentence(error), field, list(snapshot.states) if field == "dataset" else []) from None
    access = service().access
    links = [f"/play#{link}" for link in play_sessions.links_of(_log(), secret)]
    return json_response(Invitation(links[0], links, is_public(new.dataset, access.reading, access.tokens.record())), 201)


PAGE = """{% block scripts %}<script src="/assets/play.js" type="module"></script>
{% endblock %}{% block top %}<span class="brand"><span class="mark" aria-hidden="true">◢</span>Clueline</span>{% endblock %}
{% block main -%}
<main id="main">
<div class="heading"><h1 id="play-title">Play</h1></div>
<p class="play-settings"><label>Text size <select class="text" id="play-size">
<option value="0.85">small</option><option value="1" selected>normal</option>
<option value="1.3">large</option><option value="1.7">very large</option>
</select></label></p>
<p class="status-message bad" role="alert" id="play-problem" hidden></p>
<noscript><p>This page needs JavaScript.</p></noscript>
<section class="panel" id="play-consent" hidden>
<p id="play-consent-text"></p>
<p class="note" id="play-about"></p>
<p><button class="quiet primary" id="play-start" type="button">I agree, start</button></p>
</section>
<section class="panel" id="play-last" aria-live="polite" hidden></section>
<section class="panel" id="play-ready" aria-label="Next question" hidden>
<p><label for="play-pace">Pace, in words a minute (60 to 400)</label></p>
<p><input class="text" id="play-pace" type="number" min="60" max="400" step="10" inputmode="numeric"></p>
<p class="note">People read aloud at about 180. You can pause here for as long as you like.</p>
<p><button class="quiet primary" id="play-read" type="button">Read the question</button></p>
</section>
<section class="panel" id="play-reading" aria-label="Question" hidden>
<p id="play-words" aria-hidden="true"></p>
<div id="play-spoken" class="for-readers" aria-live="polite"></div>
<p class="note" id="play-left" role="timer"></p>
<p class="play-buttons"><button class="quiet primary" id="play-buzzer" type="button">Buzz</button>
<button class="quiet" id="play-pass" type="button" hidden>I don't know it</button></p>
</section>
<form class="panel" id="play-form" autocomplete="off" hidden>
<p class="note" id="play-progress"></p>
<p id="play-clues" aria-live="polite"></p>
<p id="play-prompt" role="status" hidden></p>
<div id="play-guess-field">
<p><label for="play-guess" id="play-guess-label">Your answer</label></p>
<p><input class="text" id="play-guess" maxlength="300" spellcheck="false" autocapitalize="off"></p>
</div>
<fieldset class="play-classes" id="play-classes" hidden><legend>Your choice</legend></fieldset>
<p><label for="play-confidence" id="play-confidence-label">How sure are you that it is right? 0 to 100</label></p>
<p><input class="text" id="play-confidence" type="number" min="0" max="100" step="1" required inputmode="numeric"></p>
<p id="play-buzz-field"><label><input type="checkbox" id="play-buzz"> I would buzz here</label></p>
<p><button class="quiet primary" type="submit" id="play-send">Next</button></p>
<p class="note" id="play-time" role="timer" hidden></p>
</form>
<section class="panel" id="play-models" aria-label="Models' answers" hidden></section>
<section class="panel" id="play-result" aria-label="Your calibration" hidden></section>
<p id="play-foot" class="note" hidden><button class="quiet" type="button" id="play-erase">Erase my answers</button></p>
</main>
{%- endblock %}"""


def show_play() -> Response:
    """Return the page, which is the same for every session."""
    return plain_page(PAGE, "Play", "page-login page-play")


ROUTES = {"/play": show_play}
