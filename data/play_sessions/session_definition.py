"""What is kept of a session: what its operator decided, and the questions as they were then."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Literal

import msgspec

ModeKey = Literal["every-clue", "race", "estimate", "vote"]


class SessionError(Exception):
    """A session cannot be made, or not be played.

    Attributes:
        code: ``unknown_session``, ``unknown_player``, ``ended``, ``full``, ``not_joined``, ``no_step``, ``bad_answer``,
            ``no_questions`` or ``too_many``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SessionQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question as it was when the session was made.

    Attributes:
        question_id: in its dataset.
        clues: in order; a question that has none of its own is one clue.
        answer: its answer line, or the class that most people chose.
        word_ends: words revealed by the end of each clue, where the mode counts words.
        sex, minimum_age, radius: whose age at death is asked for, and within how many years a guess counts as right.
        votes: how people voted: classes, and how many chose each.
        is_check: whether it is an attention check: it says itself what to answer, and is not of the dataset.
    """

    question_id: str
    clues: tuple[str, ...]
    answer: str = ""
    word_ends: tuple[int, ...] = ()
    sex: str = ""
    minimum_age: int = 0
    radius: int = 0
    votes: tuple[tuple[str, int], ...] = ()
    is_check: bool = False


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the operator decided.

    Attributes:
        dataset: whose questions are asked.
        questions: in no order that means anything.
        players: how many may join.
        until: when it ends, ISO 8601, UTC.
        consent: what players agree to, plain text.
        seed: of the orders of questions.
        mode: how questions are asked. Sessions that were made before there were modes do not say.
    """

    dataset: str
    questions: tuple[SessionQuestion, ...]
    players: int
    until: str
    consent: str
    seed: str
    mode: ModeKey = "every-clue"

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
