"""Mode ``race``: a question is read word by word, and the player buzzes once, as in quizbowl.

The log says when the reading began and at what pace. So the words that are due follow from the server's clock, no matter which
process is asked. Once begun, a reading goes on: a player who comes back too late has left the question, which does not count.
After a buzz, there is a time limit for the answer, and the same again if the answer line prompts.

Each question has four steps: the start, the buzz (or having heard the question to the end without one), the answer, and the
answer to a prompt. Steps that a question does not need have no entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import msgspec

from clueline.data.play_sessions.every_clue import graded, questions_with_clues
from clueline.data.play_sessions.mode_interface import (
    Entries,
    Entry,
    Guess,
    Mode,
    Played,
    PlayerState,
    QuestionResult,
    Reading,
    Row,
    Share,
    SpeedCheck,
    state_after,
)
from clueline.data.play_sessions.session_definition import Session, SessionError, SessionQuestion
from clueline.data.quizbowl.question_words import cut, plain_text, words
from clueline.data.store import Snapshot

STEPS = 4  # of a question
START, BUZZ, ANSWER, SECOND = range(STEPS)
MIN_PACE, MAX_PACE = 60, 400  # words a minute
GRACE = 5_000  # milliseconds after the last word in which a buzz is accepted
TIME_TO_ANSWER = 30_000  # milliseconds
LATENCY = 2_000  # milliseconds that a buzz or an answer may take to arrive
MAX_DELAY = 3_000  # milliseconds: a buzz counts no earlier than at the word that was due this long before it arrived
MAX_TYPING_SPEED = 20  # characters a second: twice the fastest of 168,000 typists, 120 words of 5 a minute (Dhakal et al. 2018)


class Start(Entry, frozen=True, omit_defaults=True):
    """The reading begins, at a pace of so many words a minute."""

    pace: Annotated[int, msgspec.Meta(ge=MIN_PACE, le=MAX_PACE)]


class Buzz(Entry, frozen=True, omit_defaults=True):
    """The player buzzes, or has heard the question to its end.

    Attributes:
        word: how many words the player had seen; None without a buzz.
        counted: the number of words at which the buzz counts.
        due: how many words were due when the buzz arrived.
        left: whether the player was away at the end.
    """

    word: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None
    counted: int | None = None
    due: int | None = None
    left: bool = False


class Answer(Entry, frozen=True, omit_defaults=True):
    """What the player answers after a buzz. A blank guess is none, confidence is in [0, 1]."""

    guess: Guess
    confidence: Share
    timed_out: bool = False


TYPES: tuple[type[Entry], ...] = (Start, Buzz, Answer, Answer)


class SpokenWord(NamedTuple):
    """A word as it is read, with any text after it that does not count as a word, and its clue, from 0."""

    text: str
    clue: int


class Progress(NamedTuple):
    """What a player has said to a question so far."""

    start: Start | None
    buzz: Buzz | None
    answers: tuple[Answer, ...]


@lru_cache(maxsize=4096)
def spoken_words(question: SessionQuestion) -> tuple[SpokenWord, ...]:
    """Return the words of a question, counted as imports count them."""
    spoken: list[SpokenWord] = []
    ends = (0, *question.word_ends)
    for clue, text in enumerate(question.clues):
        stated = ends[clue + 1] - ends[clue] if question.word_ends else None
        count = sum(word.counts for word in words(text, stated))
        parts = cut(text, range(1, count + 1), stated) if count else [text]
        spoken += [SpokenWord(plain_text(part), clue) for part in parts]
    return tuple(spoken)


def words_due(start: Start, total: int, now: float) -> int:
    """Return how many words of a question are due: the first one at once, the others at even intervals."""
    passed = now - (start.received_ms or 0.0)
    return min(total, 1 + int(passed * start.pace / 60_000)) if passed >= 0 else 0


def reading_ends(start: Start, total: int) -> float:
    """Return when the last word is due, in milliseconds since 1970."""
    return (start.received_ms or 0.0) + (total - 1) * 60_000 / start.pace


def time_left(start: Start, total: int, now: float) -> float | None:
    """Return the milliseconds for which a buzz is still accepted; None while words are to come, so nobody learns how many."""
    if words_due(start, total, now) < total:
        return None
    return max(reading_ends(start, total) + GRACE - now, 0.0)


class Race(Mode[Entry]):
    """The mode ``race``."""

    key = "race"
    elicitation = "race"

    def candidates(self, snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
        sql = "select question_id, list(word_end order by clue) from clues where dataset = $d group by 1"
        ends = dict(snapshot.rows(sql, {"d": dataset}))
        return [
            msgspec.structs.replace(question, word_ends=() if None in counted else tuple(counted))
            for question in questions_with_clues(snapshot, dataset)
            for counted in [ends[question.question_id]]
        ]

    def entry_type(self, step: int) -> type[Entry]:
        return TYPES[step % STEPS]

    def accept(self, session: Session, place: int, entries: Entries, step: int, entry: Entry, now: float) -> Entry:
        """Times are the server's. The word of a buzz is corrected if it cannot be true."""
        question = session.order(place)[step // STEPS]
        entry = msgspec.structs.replace(entry, received_ms=now)
        if not isinstance(entry, Buzz):
            return entry
        start = _progress(entries, step // STEPS).start
        assert start is not None, "a buzz whose question has not begun has no step"
        total = len(spoken_words(question))
        due = words_due(start, total, now)
        if entry.word is None:
            if due < total:
                raise SessionError("bad_answer", "the question is still being read")
            return msgspec.structs.replace(entry, due=due)
        counted = max(min(entry.word, due), words_due(start, total, now - MAX_DELAY), 1)
        return msgspec.structs.replace(entry, counted=counted, due=due)

    def overdue(self, session: Session, place: int, entries: Entries, now: float) -> dict[int, Entry]:
        """Allow ``LATENCY`` for requests that are on their way."""
        late: dict[int, Entry] = {}
        for number, question in enumerate(session.order(place)):
            start, buzz, answers = progress = _progress(entries, number)
            if start is None or _is_over(question, progress):
                continue
            step = number * STEPS
            if buzz is None:
                if now > reading_ends(start, len(spoken_words(question))) + GRACE + LATENCY:
                    late[step + BUZZ] = Buzz(None, left=True, received_ms=now)
                continue
            asked = answers[-1] if answers else buzz
            if now > (asked.received_ms or 0.0) + TIME_TO_ANSWER + LATENCY:
                late[step + ANSWER + len(answers)] = Answer("", 0.0, timed_out=True, received_ms=now)
        return late

    def state(self, session: Session, place: int, entries: Entries, now: float) -> PlayerState:
        results = [self.grade(part) for part in self.played(session, place, entries)]
        number = len(results)
        state = state_after(session, results, number * STEPS)
        if state.done:
            state.last = results[-1]
            return state
        start, buzz, answers = _progress(entries, number)
        spoken = spoken_words(session.order(place)[number])
        if start is None:
            state.reading = Reading("ready")
            state.last = results[-1] if results else None
        elif buzz is None:
            state.step += BUZZ
            shown = spoken[: words_due(start, len(spoken), now)]
            state.reading = Reading("reading", [*shown], start.pace, time_left(start, len(spoken), now))
        else:
            state.step += ANSWER + len(answers)
            asked = answers[-1] if answers else buzz
            left = max((asked.received_ms or 0.0) + TIME_TO_ANSWER - now, 0.0)
            guess = answers[-1].guess if answers else ""
            phase: Literal["prompted", "answering"] = "prompted" if answers else "answering"
            state.reading = Reading(phase, [*spoken[: buzz.counted]], start.pace, left, guess)
        return state

    def played(self, session: Session, place: int, entries: Entries) -> list[Played[Entry]]:
        over = []
        for number, question in enumerate(session.order(place)):
            progress = _progress(entries, number)
            if not _is_over(question, progress):
                break
            given: list[Entry | None] = [progress.start, progress.buzz, *progress.answers]
            over.append(Played(question, [entry for entry in given if entry is not None]))
        return over

    def grade(self, played: Played[Entry]) -> QuestionResult:
        """If the answer line prompted, the answer to the prompt counts, if there was one."""
        question = played.question
        buzz, answer = _buzz_and_answer(played)
        answers = []
        if buzz.counted is not None and answer is not None:
            clue = spoken_words(question)[buzz.counted - 1].clue
            answers = [graded(question, clue, answer.guess, answer.confidence, True)]
        return played.result(answers, counts=not buzz.left)

    def rows(self, played: Played[Entry]) -> list[Row]:
        """A player who did not buzz heard the question to its end and gave no answer."""
        result = self.grade(played)
        if result.counts and not result.answers:
            return [Row(len(result.clues) - 1, None, None, False)]
        return super().rows(played) if result.counts else []

    def speed_check(self, questions: Sequence[Played[Entry]]) -> SpeedCheck:
        """Between buzz and answer, the player typed the guess and entered a confidence."""
        speeds = []
        for played in questions:
            buzz, answer = played.entries[BUZZ], played.entries[ANSWER] if len(played.entries) > ANSWER else None
            if isinstance(answer, Answer) and not answer.timed_out and buzz.received_ms and answer.received_ms:
                typed = len(answer.guess) + 1
                speeds.append(1000 * typed / max(answer.received_ms - buzz.received_ms, 1.0))
        fast = sum(speed > MAX_TYPING_SPEED for speed in speeds)
        return SpeedCheck(fast, len(speeds), f"buzzes faster than {MAX_TYPING_SPEED} characters a second can be typed")


def _progress(entries: Entries, number: int) -> Progress:
    step = number * STEPS
    start, buzz = (
        msgspec.json.decode(entries[step + part], type=kind) if step + part in entries else None
        for part, kind in ((START, Start), (BUZZ, Buzz))
    )
    answers = tuple(msgspec.json.decode(entries[step + part], type=Answer) for part in (ANSWER, SECOND) if step + part in entries)
    return Progress(start, buzz, answers)  # type: ignore[arg-type]


def _is_over(question: SessionQuestion, progress: Progress) -> bool:
    _, buzz, answers = progress
    if buzz is None:
        return False
    if buzz.word is None or len(answers) == STEPS - ANSWER:
        return True
    return bool(answers) and graded(question, 0, answers[0].guess, answers[0].confidence, True).verdict != "prompt"


def _buzz_and_answer(played: Played[Entry]) -> tuple[Buzz, Answer | None]:
    """Return the buzz, and the answer that counts: the last one that came in time, else the last one."""
    buzz = played.entries[BUZZ]
    assert isinstance(buzz, Buzz)
    answers = [entry for entry in played.entries[ANSWER:] if isinstance(entry, Answer)]
    in_time = [answer for answer in answers if not answer.timed_out]
    return buzz, next(reversed(in_time or answers), None)
