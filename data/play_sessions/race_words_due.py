"""The words of a race as they become due. Players ask twice a second, so a reply takes only one query of the log."""

from __future__ import annotations

import msgspec

from data.play_sessions.race_of_one_player import BUZZ, STEPS, Start, spoken_words, time_left, words_due
from data.play_sessions.session_definition import SessionError
from data.play_sessions.sessions import NOT_JOINED, clock, digest, read_session
from data.store.play_log import PlayLog


class Words(msgspec.Struct):
    """Words that a player does not have yet, each with its clue, from 0. ``over``: the player has buzzed, or cannot any more.

    ``left_ms`` is for how long a buzz is still accepted; None while words are still to come.
    """

    words: list[tuple[str, int]]
    over: bool
    left_ms: float | None


def words_due_to_player(log: PlayLog, secret: str, player: str, step: int, have: int, now: float | None = None) -> Words:
    """Return the words that are due after the first ``have``. ``now`` is in milliseconds since 1970; None for the current time.

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
    return Words([(word.text, word.clue) for word in spoken[have:due]], left == 0, left)
