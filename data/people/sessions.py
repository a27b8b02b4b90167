"""Sessions in which people answer a dataset's questions clue by clue.

The answers to the clues are numbered in each player's own order of questions: these numbers are *steps*. A step is answered once;
what comes again, from a second tab or after a lost connection, changes nothing. A clue is sent only when all steps before it are
answered, so that nobody can read ahead.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Literal

import msgspec

from data.importing.answer_lines import parse_answer_line
from data.store import Snapshot
from data.store.play_log import PlayLog

CONSENT = (
    "Your answers, how sure you are and how long you take are kept under a pseudonym and can be published. "
    "No name and no address is kept. You can erase your answers at any time from this browser."
)
LONGEST_GUESS = 300  # characters
MOST_QUESTIONS, MOST_PLAYERS = 200, 1000
MOST_SESSIONS = 1000  # that have not ended: who may make them could fill the disk
NOT_JOINED = "this player has not joined the session, or was erased"
Verdict = Literal["accept", "prompt", "reject"]


class SessionError(Exception):
    """A session cannot be made, or not be played.

    Attributes:
        code: ``unknown_session``, ``unknown_player``, ``ended``, ``full``, ``not_joined``, ``no_step``, ``no_questions`` or
            ``too_many``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SessionQuestion(msgspec.Struct, frozen=True):
    """A question as it was when the session was made: its clues in order, and its answer line."""

    question_id: str
    clues: tuple[str, ...]
    answer: str


class Session(msgspec.Struct, frozen=True):
    """What the operator decided.

    Attributes:
        dataset: whose questions are asked.
        questions: in no order that means anything.
        players: how many may join.
        until: when it ends, ISO 8601, UTC.
        consent: what players agree to, plain text.
        seed: of the orders of questions.
    """

    dataset: str
    questions: tuple[SessionQuestion, ...]
    players: int
    until: str
    consent: str
    seed: str

    def has_ended(self) -> bool:
        """Whether it takes no answers any more."""
        return datetime.fromisoformat(self.until) <= datetime.now(UTC)

    def order(self, place: int) -> list[SessionQuestion]:
        """The questions in the order of a player.

        Each block of as many players as questions has a shuffled order of its own, which each player of the block begins at
        another question. So each question comes at each position equally often.
        """
        block, start = divmod(place, len(self.questions))
        shuffled = list(self.questions)
        random.Random(f"{self.seed} {block}").shuffle(shuffled)
        return shuffled[start:] + shuffled[:start]

    def finished(self, place: int, answers: Sequence[Answer]) -> list[tuple[SessionQuestion, Sequence[Answer]]]:
        """The questions that a player has answered at every clue, in the player's order, with the answers to their clues.

        Args:
            place: of the player.
            answers: to all steps so far.
        """
        questions = self.order(place)
        ends = list(accumulate(len(question.clues) for question in questions))
        return [
            (question, answers[end - len(question.clues) : end])
            for question, end in zip(questions, ends, strict=True)
            if end <= len(answers)
        ]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a player says at a clue.

    Attributes:
        guess: the answer; blank for none.
        confidence: in [0, 1], that the guess is right.
        buzz: whether the player would buzz here.
        shown_ms: how long the clue was shown, by the player's clock.
        round_trip_ms: how long the request before took, by the player's clock.
        clock_ms: the player's clock when it was sent, milliseconds since 1970.
        received_ms: the server's clock.
    """

    guess: str
    confidence: float
    buzz: bool
    shown_ms: float | None = None
    round_trip_ms: float | None = None
    clock_ms: float | None = None
    received_ms: float | None = None


class GradedAnswer(msgspec.Struct):
    """An answer to a clue of a question that is over."""

    clue: int
    guess: str
    confidence: float
    buzz: bool
    verdict: Verdict


class QuestionResult(msgspec.Struct):
    """A question that a player has answered at every clue."""

    question_id: str
    clues: list[str]
    answer: str
    answers: list[GradedAnswer]


class Calibration(msgspec.Struct):
    """How sure a player was, and how often right, over the clues of finished questions. None before the first one."""

    answers: int
    confidence: float | None
    accuracy: float | None


class PlayerState(msgspec.Struct):
    """What a player sees.

    Attributes:
        joined: whether the player has joined.
        consent: what players agree to.
        until: when the session ends.
        step: number of the clue to answer, from 0; as many as there are steps at the end.
        question: number of its question in the player's order, from 0.
        questions: how many there are.
        clue: number of the clue in its question, from 0.
        clues: the clues so far. Later ones are not sent.
        last: the question before, once it is over.
        calibration: of the finished questions.
        done: whether every question is answered.
    """

    joined: bool
    consent: str
    until: str
    step: int = 0
    question: int = 0
    questions: int = 0
    clue: int = 0
    clues: list[str] = []
    last: QuestionResult | None = None
    calibration: Calibration | None = None
    done: bool = False


def create_session(
    log: PlayLog, snapshot: Snapshot, dataset: str, questions: int, players: int, until: datetime, consent: str
) -> str:
    """Make a session of random questions of a dataset.

    Args:
        log: of the store.
        snapshot: of the store.
        dataset: its id.
        questions: how many, at most.
        players: how many may join.
        until: when it ends.
        consent: what players agree to.

    Returns:
        The secret of the session. It cannot be shown again: only its hash is kept.

    Raises:
        SessionError: the dataset has no question with an answer and clues that have texts, or there are too many sessions.
        StoreError: it cannot be written.
    """
    rows = snapshot.rows(
        """select q.question_id, any_value(q.answer), list(c.text order by c.clue)
        from questions q join clues c using (dataset, question_id)
        where q.dataset = $d and coalesce(q.answer, '') <> ''
        group by q.question_id having count(*) = count(nullif(c.text, '')) order by min(q.position)""",
        {"d": dataset},
    )
    if sum(not session.ended for session in list_sessions(log)) >= MOST_SESSIONS:
        raise SessionError("too_many", f"there are {MOST_SESSIONS:,} sessions that have not ended; wait for the end of one")
    if not rows:
        raise SessionError("no_questions", f"there is no dataset {dataset!r} with questions that have clues and answers")
    chosen = secrets.SystemRandom().sample(rows, min(questions, len(rows)))
    session = Session(
        dataset,
        tuple(SessionQuestion(question_id, tuple(clues), answer) for question_id, answer, clues in chosen),
        players,
        until.astimezone(UTC).isoformat(),
        consent,
        secrets.token_hex(8),
    )
    secret = secrets.token_urlsafe(24)
    log.add_session(digest(secret), msgspec.json.encode(session).decode())
    return secret


class SessionSummary(msgspec.Struct):
    """A session as its operator sees it.

    Attributes:
        session: begins the hash of its secret, so that sessions can be told apart.
        dataset: whose questions are asked.
        questions: how many.
        players: how many may join.
        joined: how many have.
        answers: to clues, of all players.
        until: when it ends, ISO 8601, UTC.
        ended: whether it has.
    """

    session: str
    dataset: str
    questions: int
    players: int
    joined: int
    answers: int
    until: str
    ended: bool


def list_sessions(log: PlayLog) -> list[SessionSummary]:
    """The sessions of a store, the last to end first. Raises ``StoreError``."""
    summaries = []
    for row in log.overview():
        session = msgspec.json.decode(row.document, type=Session)
        summaries.append(
            SessionSummary(
                row.session[:12],
                session.dataset,
                len(session.questions),
                session.players,
                row.players,
                row.answers,
                session.until,
                session.has_ended(),
            )
        )
    return sorted(summaries, key=lambda summary: (summary.until, summary.session), reverse=True)


def read_session(log: PlayLog, secret: str) -> Session:
    """The session of a secret. Raises ``SessionError`` if there is none, and ``StoreError``."""
    document = log.session(digest(secret))
    if document is None:
        raise SessionError("unknown_session", "there is no session with this link")
    return msgspec.json.decode(document, type=Session)


def join(log: PlayLog, secret: str, player: str) -> PlayerState:
    """Let a player join, or come back.

    Args:
        log: of the store.
        secret: of the session.
        player: secret of the player, which only the player's browser keeps.

    Raises:
        SessionError: there is no such session, it is full, or it has ended.
        StoreError: the log cannot be reached.
    """
    session = read_session(log, secret)
    if session.has_ended():
        raise SessionError("ended", "this session has ended")
    if log.join(digest(secret), digest(player), session.players) is None:
        raise SessionError("full", f"this session has its {session.players} players")
    return _read_state(log, session, secret, player)


def read_state(log: PlayLog, secret: str, player: str) -> PlayerState:
    """What a player sees now. Raises as ``read_session``."""
    return _read_state(log, read_session(log, secret), secret, player)


def read_results(log: PlayLog, secret: str, player: str) -> list[QuestionResult]:
    """The questions that a player has answered at every clue, in the player's order.

    Raises:
        SessionError: there is no such session, or the player has not joined it.
        StoreError: the log cannot be reached.
    """
    session = read_session(log, secret)
    place = log.place(digest(secret), digest(player))
    if place is None:
        raise SessionError("not_joined", NOT_JOINED)
    return [_grade(question, given) for question, given in session.finished(place, _answers(log, secret, player))]


def _answers(log: PlayLog, secret: str, player: str) -> list[Answer]:
    """The answers of a player to all steps so far."""
    return [msgspec.json.decode(row.answer, type=Answer) for row in log.answers(digest(secret), digest(player))]


def _read_state(log: PlayLog, session: Session, secret: str, player: str) -> PlayerState:
    place = log.place(digest(secret), digest(player))
    if place is None:
        return PlayerState(False, session.consent, session.until)
    answers = _answers(log, secret, player)
    results = [_grade(question, given) for question, given in session.finished(place, answers)]
    clue = len(answers) - sum(len(result.clues) for result in results)
    current = session.order(place)[len(results) :]
    return PlayerState(
        True,
        session.consent,
        session.until,
        step=len(answers),
        question=len(results),
        questions=len(session.questions),
        clue=clue,
        clues=list(current[0].clues[: clue + 1]) if current else [],
        last=results[-1] if results and clue == 0 else None,
        calibration=_calibration(results),
        done=not current,
    )


def add_answer(log: PlayLog, secret: str, player: str, step: int, answer: Answer) -> PlayerState:
    """Log the answer to a step, unless it has one.

    Args:
        log: of the store.
        secret: of the session.
        player: secret of the player.
        step: which the player saw. One that has an answer keeps it.
        answer: what the player says.

    Raises:
        SessionError: the player has not joined, the step was not shown yet, or the session has ended.
        StoreError: the log cannot be reached. The answer may or may not be logged: send it again.
    """
    session = read_session(log, secret)
    state = _read_state(log, session, secret, player)
    if not state.joined:
        raise SessionError("not_joined", NOT_JOINED)
    if step > state.step or (state.done and step == state.step):
        raise SessionError("no_step", f"step {step} was not shown yet")
    if step < state.step:
        return state
    if session.has_ended():
        raise SessionError("ended", "this session has ended")
    log.add_answer(digest(secret), digest(player), step, msgspec.json.encode(answer).decode())
    return _read_state(log, session, secret, player)


def digest(secret: str) -> str:
    """The id of a secret in the log."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _grade(question: SessionQuestion, answers: Sequence[Answer]) -> QuestionResult:
    line = parse_answer_line(question.answer)
    graded = [
        GradedAnswer(clue, answer.guess, answer.confidence, answer.buzz, line.grade(answer.guess or None))
        for clue, answer in enumerate(answers)
    ]
    return QuestionResult(question.question_id, list(question.clues), question.answer, graded)


def _calibration(results: list[QuestionResult]) -> Calibration:
    answers = [answer for result in results for answer in result.answers]
    if not answers:
        return Calibration(0, None, None)
    return Calibration(
        len(answers),
        sum(answer.confidence for answer in answers) / len(answers),
        sum(answer.verdict == "accept" for answer in answers) / len(answers),
    )
