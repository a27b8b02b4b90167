"""What is stored about a session: what its operator decided, and the questions as they were then."""

from __future__ import annotations

import hmac
import random
from datetime import UTC, datetime
from typing import Literal

import msgspec

ModeKey = Literal["every-clue", "race", "estimate", "vote"]


class SessionError(Exception):
    """A session cannot be created or played.

    ``code`` is ``unknown_session``, ``unknown_player``, ``ended``, ``full``, ``not_invited``, ``not_joined``, ``no_step``,
    ``bad_answer``, ``no_questions`` or ``too_many``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SessionQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question as it was when the session was created."""

    question_id: str
    clues: tuple[str, ...]  # in order; a question without clues of its own is one clue
    answer: str = ""  # its answer line, or the class that most people chose
    word_ends: tuple[int, ...] = ()  # number of words revealed by the end of each clue, if the mode counts words
    sex: str = ""  # whose age at death is asked for
    minimum_age: int = 0
    radius: int = 0  # years within which a guess counts as right
    votes: tuple[tuple[str, int], ...] = ()  # classes, and how many people chose each
    is_check: bool = False  # whether it is an attention check, which itself says what to answer and is not part of the dataset


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the operator decided."""

    dataset: str
    questions: tuple[SessionQuestion, ...]  # in no particular order
    players: int  # how many may join
    until: str  # ISO 8601, UTC
    consent: str  # what players agree to, plain text
    seed: str  # for the players' orders of questions
    mode: ModeKey = "every-clue"  # sessions from before there were modes do not state it
    personal: bool = False  # whether each player needs a key of their own

    def player_keys(self) -> list[str]:
        """Return the keys with which players of a personal session join: 32 hexadecimal digits each."""
        keyed = (hmac.new(self.seed.encode(), str(number).encode(), "sha256") for number in range(self.players))
        return [key.hexdigest()[:32] for key in keyed] if self.personal else []

    def places_of_address(self) -> int:
        """Return how many players can join from one address: of ten places and more, a third is kept for others."""
        return self.players if self.players < 10 else self.players - self.players // 3

    def has_ended(self) -> bool:
        return datetime.fromisoformat(self.until) <= datetime.now(UTC)

    def order(self, place: int) -> list[SessionQuestion]:
        """Return the questions in the order of the player at a place.

        A block has as many players as there are questions, and its own shuffled order. Each player of the block begins this
        order at a different question. So each question comes at each position equally often.
        """
        block, start = divmod(place, len(self.questions))
        shuffled = list(self.questions)
        random.Random(f"{self.seed} {block}").shuffle(shuffled)
        return shuffled[start:] + shuffled[:start]
