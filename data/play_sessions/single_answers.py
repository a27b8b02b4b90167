"""Modes in which a question is answered in one step: ``estimate``, an age at death, and ``vote``, one of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from clueline.data.life_table import probability_within
from clueline.data.play_sessions.mode_interface import (
    CHECK,
    ClueByClue,
    Entries,
    Entry,
    GradedAnswer,
    Played,
    QuestionResult,
    Share,
    check_id,
)
from clueline.data.play_sessions.session_definition import Session, SessionError, SessionQuestion
from clueline.data.store import Snapshot

MAX_AGE = 130  # years; the greatest age that can be guessed


class Estimate(Entry, frozen=True, omit_defaults=True):
    """A guess at an age, and how sure the player is that the person dies within the radius of it, in [0, 1]."""

    age: Annotated[float, msgspec.Meta(ge=0, le=MAX_AGE)]
    confidence: Share


class Vote(Entry, frozen=True, omit_defaults=True):
    """A class, and how sure the player is that most people choose the same, in [0, 1]."""

    choice: Annotated[str, msgspec.Meta(max_length=500)]
    confidence: Share


class EstimateMode(ClueByClue[Estimate]):
    """The life table grades the guess: correctness is the probability that it is within the radius."""

    key = "estimate"
    elicitation = "estimate"
    guesses = False
    entry = Estimate

    def candidates(self, snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
        rows = snapshot.rows(
            """select question_id, text, sex, minimum_age, radius from questions join datasets using (dataset)
            where dataset = $d and kind = 'lifeeval' and sex is not null and minimum_age is not null and radius is not null
            order by questions.position""",
            {"d": dataset},
        )
        return [
            SessionQuestion(question_id, (text or _wording(sex, age, radius),), sex=sex, minimum_age=age, radius=radius)
            for question_id, text, sex, age, radius in rows
        ]

    def attention_check(self, number: int, candidates: Sequence[SessionQuestion]) -> SessionQuestion:
        age = f"{41 + 7 * number}"
        return SessionQuestion(check_id(number), (f"{CHECK} Enter the age {age}.",), age, is_check=True)

    def grade(self, played: Played[Estimate]) -> QuestionResult:
        question, (entry,) = played
        guess = f"{entry.age:g}"
        if question.is_check:
            correct = float(guess == question.answer)
        else:
            correct = float(probability_within(entry.age, question.radius, question.minimum_age, question.sex))
        return played.result([GradedAnswer(0, guess, entry.confidence, False, None, correct)])


class VoteMode(ClueByClue[Vote]):
    """The right answer is the class that most people chose."""

    key = "vote"
    elicitation = "vote"
    guesses = False
    entry = Vote

    def candidates(self, snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
        rows = snapshot.rows(
            """with voted as (select question_id, map(list(class), list(votes)) as votes from votes where dataset = $d group by 1)
            select question_id, text, answer, votes, classes
            from questions join datasets using (dataset) join voted using (question_id)
            where dataset = $d and coalesce(text, '') <> '' and answer is not null and classes is not null
            order by questions.position""",
            {"d": dataset},
        )
        return [
            SessionQuestion(question_id, (text,), answer, votes=tuple((name, votes.get(name, 0)) for name in classes))
            for question_id, text, answer, votes, classes in rows
        ]

    def attention_check(self, number: int, candidates: Sequence[SessionQuestion]) -> SessionQuestion:
        classes = [name for name, _ in candidates[0].votes]
        chosen = classes[number % len(classes)]
        text = f"{CHECK} Choose {chosen}."
        return SessionQuestion(check_id(number), (text,), chosen, votes=tuple((name, 0) for name in classes), is_check=True)

    def accept(self, session: Session, place: int, entries: Entries, step: int, entry: Vote, now: float) -> Vote:
        classes = [name for name, _ in session.order(place)[step].votes]
        if entry.choice not in classes:
            raise SessionError("bad_answer", f"{entry.choice!r} is not one of {', '.join(classes)}")
        return entry

    def grade(self, played: Played[Vote]) -> QuestionResult:
        question, (entry,) = played
        right = entry.choice == question.answer
        answer = GradedAnswer(0, entry.choice, entry.confidence, False, "accept" if right else "reject", float(right))
        return played.result([answer], votes=() if question.is_check else question.votes)


def _wording(sex: str, minimum_age: int, radius: int) -> str:
    person = {"male": "A man", "female": "A woman"}[sex]
    return (
        f"{person} in the United States has reached the age of {minimum_age}. At what age will this person die? "
        f"A guess within {radius} years counts as right."
    )
