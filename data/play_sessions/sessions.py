"""Sessions in which people answer a dataset's questions: creating and listing them, joining, answering."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from clueline.data.play_sessions.every_clue import EveryClue
from clueline.data.play_sessions.mode_interface import CHECK_WORDS, Entry, Mode, PlayerState, QuestionResult
from clueline.data.play_sessions.race_of_one_player import BUZZ, STEPS, Race, Start, spoken_words, time_left, words_due
from clueline.data.play_sessions.session_definition import ModeKey, Session, SessionError
from clueline.data.play_sessions.single_answers import EstimateMode, VoteMode
from clueline.data.store import Snapshot
from clueline.data.store.play_log import LoggedPlayer, PlayLog

MODES: Mapping[ModeKey, Mode[Any]] = {mode.key: mode for mode in (EveryClue(), Race(), EstimateMode(), VoteMode())}
DEFAULT: ModeKey = "every-clue"

CONSENT = (
    "Your answers, how sure you are and how long you take are kept under a pseudonym and can be published. "
    "No name and no address is kept. You can erase your answers at any time from this browser."
)
MAX_QUESTIONS, MAX_PLAYERS, MAX_CHECKS = 200, 1000, len(CHECK_WORDS)
MAX_SESSIONS = 1000  # that have not ended: without a limit, whoever may create sessions could fill the disk
MAX_REMEMBERED = 100  # sessions of a log that a process keeps in memory; a session never changes
NOT_JOINED = "this player has not joined the session, or was erased"

_sessions: MutableMapping[PlayLog, dict[str, Session]] = WeakKeyDictionary()


def create_session(
    log: PlayLog,
    snapshot: Snapshot,
    dataset: str,
    questions: int,
    players: int,
    until: datetime,
    consent: str,
    mode: ModeKey = DEFAULT,
    checks: int = 0,
    personal: bool = False,
    record: Callable[[], None] = lambda: None,
) -> str:
    """Create a session with random questions of a dataset, and return its secret. Only the hash of the secret is stored.

    There are fewer questions if the dataset has fewer. ``checks`` attention checks, at most ``MAX_CHECKS``, come on top.
    ``consent`` is what players agree to. If ``personal``, each player needs a link of their own. ``record`` is called
    just before the session is stored. Raises ``StoreError``, or ``SessionError`` if the dataset has no question for this mode, or
    there are too many sessions.
    """
    candidates = MODES[mode].candidates(snapshot, dataset)
    if sum(not session.ended for session in list_sessions(log)) >= MAX_SESSIONS:
        raise SessionError("too_many", f"there are {MAX_SESSIONS:,} sessions that have not ended; wait for the end of one")
    if not candidates:
        fitting = [key for key, other in MODES.items() if other.candidates(snapshot, dataset)]
        offers = f"; its questions fit {' and '.join(fitting)}" if fitting else ""
        raise SessionError("no_questions", f"there is no dataset {dataset!r} with questions for the mode {mode}{offers}")
    drawn = secrets.SystemRandom().sample(candidates, min(questions, len(candidates)))
    drawn += [MODES[mode].attention_check(number, candidates) for number in range(checks)]
    until_utc = until.astimezone(UTC).isoformat()
    session = Session(dataset, tuple(drawn), players, until_utc, consent, secrets.token_hex(8), mode, personal)
    secret = secrets.token_urlsafe(24)
    record()
    log.add_session(digest(secret), msgspec.json.encode(session).decode())
    return secret


class SessionSummary(msgspec.Struct):
    """A session as its operator sees it.

    Attributes:
        session: first 12 characters of the hash of its secret, to distinguish sessions.
        questions: number of questions from the dataset; attention checks come in addition.
        players: how many may join.
        joined: how many have joined, including those who erased their answers since.
        answers: number of answers of all players to clues; in a race, the start, the buzz and the answer each count.
        until: ISO 8601, UTC.
    """

    session: str
    dataset: str
    mode: ModeKey
    questions: int
    attention_checks: int
    players: int
    joined: int
    answers: int
    until: str
    ended: bool


def list_sessions(log: PlayLog) -> list[SessionSummary]:
    """Return the sessions of a store, the last to end first. Raises ``StoreError``."""
    summaries = []
    for row in log.overview():
        session = msgspec.json.decode(row.document, type=Session)
        checks = sum(question.is_check for question in session.questions)
        summaries.append(SessionSummary(
            row.session[:12], session.dataset, session.mode, len(session.questions) - checks, checks, session.players, row.joined,
            row.answers, session.until, session.has_ended(),
        ))  # fmt: skip
    return sorted(summaries, key=lambda summary: (summary.until, summary.session), reverse=True)


def read_session(log: PlayLog, secret: str) -> Session:
    """Return the session that a secret belongs to. Raises ``SessionError`` if there is none, and ``StoreError``."""
    known, name = _sessions.setdefault(log, {}), digest(secret)
    if name not in known:
        document = log.session(name)
        if document is None:
            raise SessionError("unknown_session", "there is no session with this link")
        if len(known) >= MAX_REMEMBERED:
            known.clear()
        known[name] = msgspec.json.decode(document, type=Session)
    return known[name]


def links_of(log: PlayLog, secret: str) -> list[str]:
    """Return what follows ``#`` in the links of a session: its secret, with the key of each player if it is personal."""
    return [f"{secret}/{key}" for key in read_session(log, secret).player_keys()] or [secret]


def join(log: PlayLog, secret: str, player: str, address: str = "") -> PlayerState:
    """Let a player join, or come back. ``address`` is that of the client; of a blank one, any number of players can join.

    Raises ``SessionError`` if the session is full, also for this address, or has ended, and ``StoreError``.
    """
    session = read_session(log, secret)
    if session.has_ended():
        raise SessionError("ended", "this session has ended")
    if session.personal and player not in session.player_keys():
        raise SessionError("not_invited", "this link is incomplete: each player of this session has a link of their own")
    name, full = digest(secret), SessionError("full", f"this session is full: all its {session.players} places are taken")
    if address and not session.personal and log.place(name, digest(player)) is None:
        most = session.places_of_address()
        if not log.admit(name, digest(f"{secret} {address}"), most):
            reason = f"{most} players have joined from your network, as many as can; ask who sent you the link for another"
            raise full if most == session.players else SessionError("network_full", reason)
    if log.join(name, digest(player), session.players) is None:
        raise full
    return read_state(log, secret, player)


def read_state(log: PlayLog, secret: str, player: str, now: float | None = None) -> PlayerState:
    """Return what a player sees. ``now`` is in milliseconds since 1970. Raises ``SessionError`` or ``StoreError``."""
    session, now = read_session(log, secret), clock() if now is None else now
    logged = _logged_player(log, session, secret, player, now)
    if logged is None:
        return PlayerState(False, session.consent, session.until, session.mode)
    return MODES[session.mode].state(session, *logged, now)


def read_results(log: PlayLog, secret: str, player: str) -> list[QuestionResult]:
    """Return the questions that a player has finished, in the player's order. Raises ``SessionError`` or ``StoreError``."""
    session = read_session(log, secret)
    logged = _logged_player(log, session, secret, player, clock())
    if logged is None:
        raise SessionError("not_joined", NOT_JOINED)
    mode: Mode[Any] = MODES[session.mode]
    return [mode.grade(played) for played in mode.played(session, *logged)]


def add_answer(log: PlayLog, secret: str, player: str, step: int, entry: Entry, now: float | None = None) -> PlayerState:
    """Log what a player says at a step, unless the step already has an answer, and return what the player sees next.

    ``step`` is the one that the player saw, and ``entry`` of the mode's type for it. Raises ``SessionError`` if the player has
    not joined, the step was not shown yet, the entry is not valid, or the session has ended. After ``StoreError``, the answer may
    or may not be logged: send it again.
    """
    session, now = read_session(log, secret), clock() if now is None else now
    mode: Mode[Any] = MODES[session.mode]
    logged = _logged_player(log, session, secret, player, now)
    if logged is None:
        raise SessionError("not_joined", NOT_JOINED)
    state = mode.state(session, *logged, now)
    if step < state.step:
        return state
    if step > state.step or state.done:
        raise SessionError("no_step", f"step {step} was not shown yet")
    if session.has_ended():
        raise SessionError("ended", "this session has ended")
    _log_entry(log, secret, player, logged.place, step, mode.accept(session, *logged, step, entry, now))
    return read_state(log, secret, player, now)


def _logged_player(log: PlayLog, session: Session, secret: str, player: str, now: float) -> LoggedPlayer | None:
    """Return a player as logged. Steps that timed out are logged first, so everybody who asks gets the same."""
    logged = log.player(digest(secret), digest(player))
    overdue = MODES[session.mode].overdue(session, *logged, now) if logged else {}
    if logged is None or not overdue:
        return logged
    for step, entry in sorted(overdue.items()):
        _log_entry(log, secret, player, logged.place, step, entry)
    return log.player(digest(secret), digest(player))


def _log_entry(log: PlayLog, secret: str, player: str, place: int, step: int, entry: Entry) -> None:
    log.add_answer(digest(secret), digest(player), place, step, msgspec.json.encode(entry).decode())


class Words(msgspec.Struct):
    """Words that a player does not have yet, each with its clue, from 0. ``over``: the player has buzzed, or cannot any more.

    ``left_ms`` is for how long a buzz is still accepted; None while words are still to come.
    """

    words: list[tuple[str, int]]
    over: bool
    left_ms: float | None


def words_due_to_player(log: PlayLog, secret: str, player: str, step: int, have: int, now: float | None = None) -> Words:
    """Return the words of a race that are due after the first ``have``. ``now`` is in milliseconds since 1970.

    Players ask twice a second, so this takes only one query of the log.

    Raises ``StoreError``, or ``SessionError`` if there is no such session, it is not a race, the player has not joined it, or the
    question has not begun.
    """
    now = clock() if now is None else now
    session = read_session(log, secret)
    logged = log.player(digest(secret), digest(player), since=step - BUZZ)
    if logged is None:
        raise SessionError("not_joined", NOT_JOINED)
    number = step // STEPS
    if session.mode != "race" or step % STEPS != BUZZ or number >= len(session.questions):
        raise SessionError("no_step", f"nothing is read at step {step}")
    if step - BUZZ not in logged.answers:
        raise SessionError("no_step", f"the reading of step {step} has not begun")
    if step in logged.answers:
        return Words([], True, None)
    start = msgspec.json.decode(logged.answers[step - BUZZ], type=Start)
    spoken = spoken_words(session.order(logged.place)[number])
    due = words_due(start, len(spoken), now)
    left = time_left(start, len(spoken), now)
    return Words([*spoken[have:due]], left == 0, left)


def clock() -> float:
    """Return the current time in milliseconds since 1970."""
    return time.time() * 1000


def digest(secret: str) -> str:
    """Return the id of a secret in the log."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
