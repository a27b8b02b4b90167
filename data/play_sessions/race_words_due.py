"""The words of a race as they become due. Players ask twice a second, so a reply takes only one query of the log."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from data.play_sessions.race_of_one_player import BUZZ, STEPS, SpokenWord, Start, spoken_words, time_left, words_due
from data.play_sessions.session_definition import SessionError
from data.play_sessions.sessions import NOT_JOINED, clock, digest, read_session
from data.store.play_log import PlayLog

MAX_REMEMBERED = 5000  # readings of a log that a process keeps in memory; a reading never changes


class Words(msgspec.Struct):
    """Words that a player does not have yet.

    Attributes:
        words: each with its clue, from 0.
        over: whether the player has buzzed or it is too late to buzz.
        left_ms: milliseconds for which a buzz is still accepted; None while words are still to come.
    """

    words: list[tuple[str, int]]
    over: bool
    left_ms: float | None


class _Reading(NamedTuple):
    start: Start
    spoken: tuple[SpokenWord, ...]


_readings: MutableMapping[PlayLog, dict[tuple[str, str, int], _Reading]] = WeakKeyDictionary()


def words_due_to_player(log: PlayLog, secret: str, player: str, step: int, have: int, now: float | None = None) -> Words:
    """Return the words that are due and that a player does not have yet.

    Args:
        log: of the store.
        secret: of the session.
        player: secret of the player.
        step: the step at which the player can buzz.
        have: how many words the player has.
        now: milliseconds since 1970; None for the current time.

    Raises:
        SessionError: there is no such session, it is not a race, the player has not joined it, or the question has not begun.
        StoreError: the log cannot be reached.
    """
    now = clock() if now is None else now
    start, spoken = _reading(log, secret, player, step)
    if log.has_answer(digest(secret), digest(player), step):
        return Words([], True, None)
    due = words_due(start, len(spoken), now)
    left = time_left(start, len(spoken), now)
    return Words([(word.text, word.clue) for word in spoken[have:due]], left == 0, left)


def _reading(log: PlayLog, secret: str, player: str, step: int) -> _Reading:
    """Return what is read to a player. Once it has begun, it never changes."""
    known, key = _readings.setdefault(log, {}), (digest(secret), digest(player), step)
    if key not in known:
        session = read_session(log, secret)
        place = log.place(*key[:2])
        if place is None:
            raise SessionError("not_joined", NOT_JOINED)
        number = step // STEPS
        if session.mode != "race" or step % STEPS != BUZZ or number >= len(session.questions):
            raise SessionError("no_step", f"nothing is read at step {step}")
        entries: dict[int, Any] = {row.step: row.answer for row in log.answers(*key[:2])}
        if step - BUZZ not in entries:
            raise SessionError("no_step", f"the reading of step {step} has not begun")
        start = msgspec.json.decode(entries[step - BUZZ], type=Start)
        if len(known) >= MAX_REMEMBERED:
            known.clear()
        known[key] = _Reading(start, spoken_words(session.order(place)[number]))
    return known[key]
