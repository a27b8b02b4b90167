"""What the mode of a session decides: what is asked, what an answer is, how it is graded, and what is collected from it.

What a player says is logged under numbers, the *steps* in the player's own order of questions. A step is answered once: a
repeated answer, from a second tab or after a lost connection, changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from clueline.data.play_sessions.session_definition import ModeKey, Session, SessionQuestion
from clueline.data.store import Snapshot

Verdict = Literal["accept", "prompt", "reject"]
MAX_GUESS_LENGTH = 300  # characters
Guess = Annotated[str, msgspec.Meta(max_length=MAX_GUESS_LENGTH)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
MAX_WORDS_PER_MINUTE = 1000  # words a minute: four times the mean speed of silent reading (Brysbaert 2019: 238)
MIN_WORDS = 5  # words that a text needs for speed to be judged
CHECK = "This question only checks that you are reading."
CHECK_WORDS = ("maple", "lantern", "violet", "harbor", "copper")  # the answers to attention checks


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What a player says at a step, with the time for which it was shown and that the previous request took.

    ``clock_ms`` is the player's clock when the entry was sent, in milliseconds since 1970, and ``received_ms`` the server's when
    it came. The player's clock is ahead by ``clock_ms + round_trip_ms / 2 - received_ms``.
    """

    shown_ms: Milliseconds | None = None
    round_trip_ms: Milliseconds | None = None
    clock_ms: Milliseconds | None = None
    received_ms: float | None = None


E = TypeVar("E", bound=Entry)
Entries = Mapping[int, str]  # what a player said, as JSON, by step


class GradedAnswer(msgspec.Struct):
    """An answer to a finished question. Clues are from 0; a blank guess is none; confidence and ``correct`` are in [0, 1].

    ``buzz`` says whether the player buzzed, or would. ``verdict`` is None if answers are not simply right or wrong.
    """

    clue: int
    guess: str
    confidence: float
    buzz: bool
    verdict: Verdict | None
    correct: float


class QuestionResult(msgspec.Struct):
    """A question that a player has finished. It is not collected (``counts``) if the player was away at the end."""

    question_id: str
    clues: list[str]
    answer: str
    answers: list[GradedAnswer]
    counts: bool = True
    votes: list[tuple[str, int]] = []
    is_check: bool = False


class Calibration(msgspec.Struct):
    """How sure and how often right a player was, over the answers to finished questions. None before the first one."""

    answers: int
    confidence: float | None
    accuracy: float | None


class Reading(msgspec.Struct):
    """Where a player is in a question that is read word by word.

    Attributes:
        phase: ``ready`` before it begins, then ``reading``, and after a buzz ``answering``, or ``prompted`` if the answer was
            incomplete.
        words: the words that are due, each with its clue.
        pace: words a minute.
        left_ms: milliseconds for which a buzz or an answer is still accepted; None while words are still to come.
        guess: the incomplete answer.
    """

    phase: Literal["ready", "reading", "answering", "prompted"]
    words: list[tuple[str, int]] = []
    pace: int = 0
    left_ms: float | None = None
    guess: str = ""


class PlayerState(msgspec.Struct):
    """What a player sees. Numbers of steps, questions and clues are from 0; clues count from the start of their question.

    ``clues`` are those so far; later ones are not sent. ``last`` is the previous question, once it is finished. ``radius`` is in
    years.
    """

    joined: bool
    consent: str
    until: str
    mode: ModeKey
    step: int = 0
    question: int = 0
    questions: int = 0
    clue: int = 0
    clues: list[str] = []
    last: QuestionResult | None = None
    calibration: Calibration | None = None
    done: bool = False
    reading: Reading | None = None
    classes: list[str] = []
    radius: int | None = None


class Played(NamedTuple, Generic[E]):
    """A question that a player has finished, and what the player said, in order of steps."""

    question: SessionQuestion
    entries: Sequence[E]

    def result(
        self, answers: list[GradedAnswer], *, counts: bool = True, votes: Sequence[tuple[str, int]] = ()
    ) -> QuestionResult:
        asked = self.question
        return QuestionResult(asked.question_id, list(asked.clues), asked.answer, answers, counts, list(votes), asked.is_check)


class SpeedCheck(NamedTuple):
    """How often a player was faster than anybody can be: ``fast`` of ``times``, at ``what``."""

    fast: int
    times: int
    what: str


class Row(NamedTuple):
    """A row of the run that is collected. Clues are from 0; a guess of None is none; confidence is in [0, 1], None without an
    answer.

    ``buzz`` says whether the player buzzed, or would; it is None in a mode without buzzes.
    """

    clue: int
    guess: str | None
    confidence: float | None
    buzz: bool | None


class Mode(ABC, Generic[E]):
    """How the questions of a session are asked.

    If ``guesses``, answers are guesses in the player's own words. Only then are blank guesses and shared mistakes signs of a
    careless player.
    """

    key: ClassVar[ModeKey]
    elicitation: ClassVar[str]
    guesses: ClassVar[bool] = True

    @abstractmethod
    def candidates(self, snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
        """Return the questions of a dataset that can be asked in this mode."""

    def attention_check(self, number: int, candidates: Sequence[SessionQuestion]) -> SessionQuestion:
        """Return a question that itself says what to answer, so a wrong answer shows that it was not read."""
        del candidates
        word = CHECK_WORDS[number]
        return SessionQuestion(check_id(number), (f"{CHECK} Answer with the word {word}.",), word, is_check=True)

    @abstractmethod
    def entry_type(self, step: int) -> type[E]:
        """Return the type of what is said at a step."""

    @abstractmethod
    def state(self, session: Session, place: int, entries: Entries, now: float) -> PlayerState:
        """Return what a player sees. ``now`` is the server's clock, in milliseconds since 1970."""

    @abstractmethod
    def accept(self, session: Session, place: int, entries: Entries, step: int, entry: E, now: float) -> E:
        """Return what to log at the step to answer. Raises ``SessionError`` if the entry is not valid."""

    @abstractmethod
    def played(self, session: Session, place: int, entries: Entries) -> list[Played[E]]:
        """Return the questions that a player has finished, in order."""

    @abstractmethod
    def grade(self, played: Played[E]) -> QuestionResult:
        """Return a finished question with its answer and grades."""

    def rows(self, played: Played[E]) -> list[Row]:
        """Return what is collected from a finished question."""
        answers = self.grade(played).answers
        return [Row(given.clue, given.guess or None, given.confidence, given.buzz if self.guesses else None) for given in answers]

    @abstractmethod
    def speed_check(self, questions: Sequence[Played[E]]) -> SpeedCheck:
        """Return how often a player was too fast over the finished questions, which are in order."""

    def overdue(self, session: Session, place: int, entries: Entries, now: float) -> dict[int, E]:
        """Return what to log because the player has let a time limit pass, by step. See ``state``."""
        del session, place, entries, now
        return {}


class ClueByClue(Mode[E]):
    """A mode without a time limit. The steps are the clues, numbered consecutively across the player's questions."""

    entry: type[E]

    def entry_type(self, step: int) -> type[E]:
        del step
        return self.entry

    def played(self, session: Session, place: int, entries: Entries) -> list[Played[E]]:
        questions = session.order(place)
        ends = list(accumulate(len(question.clues) for question in questions))
        answered = [msgspec.json.decode(entries[step], type=self.entry) for step in range(len(entries))]
        return [
            Played(question, answered[end - len(question.clues) : end])
            for question, end in zip(questions, ends, strict=True)
            if end <= len(answered)
        ]

    def accept(self, session: Session, place: int, entries: Entries, step: int, entry: E, now: float) -> E:
        del session, place, entries, step, now
        return entry

    def state(self, session: Session, place: int, entries: Entries, now: float) -> PlayerState:
        del now
        results = [self.grade(part) for part in self.played(session, place, entries)]
        clue = len(entries) - sum(len(result.clues) for result in results)
        state = state_after(session, results, len(entries))
        if not state.done:
            asked = session.order(place)[len(results)]
            state.clue, state.clues, state.radius = clue, list(asked.clues[: clue + 1]), asked.radius or None
            state.classes = [name for name, _ in asked.votes]
        state.last = results[-1] if results and clue == 0 else None
        return state

    def speed_check(self, questions: Sequence[Played[E]]) -> SpeedCheck:
        """Between two answers, the player read a clue."""
        clues = [
            (text, entry.received_ms) for part in questions for text, entry in zip(part.question.clues, part.entries, strict=True)
        ]
        speeds = [
            60_000 * words / max(after - before, 1.0)
            for (_, before), (text, after) in pairwise(clues)
            if before is not None and after is not None and (words := len(text.split())) >= MIN_WORDS
        ]
        fast = sum(speed > MAX_WORDS_PER_MINUTE for speed in speeds)
        return SpeedCheck(fast, len(speeds), f"clues faster than {MAX_WORDS_PER_MINUTE:,} words a minute can be read")


def check_id(number: int) -> str:
    """Return the question id of an attention check in its session."""
    return f"attention check {number + 1}"


def state_after(session: Session, results: Sequence[QuestionResult], step: int) -> PlayerState:
    """Return what a player sees apart from the question to answer. Attention checks do not count for the calibration."""
    answers = [answer for result in results if result.counts and not result.is_check for answer in result.answers]
    confidence, accuracy = sum(answer.confidence for answer in answers), sum(answer.correct for answer in answers)
    count, questions = len(answers), len(session.questions)
    calibration = Calibration(count, confidence / count, accuracy / count) if answers else Calibration(0, None, None)
    return PlayerState(
        True, session.consent, session.until, session.mode, step=step, question=len(results), questions=questions,
        calibration=calibration, done=len(results) == questions,
    )  # fmt: skip
