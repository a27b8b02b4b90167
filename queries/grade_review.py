"""Grades that a person should check before a run is published."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from data.duckdb_and_polars import first_rows
from data.importing.grading import doubt
from data.store import Snapshot

MAX_EXAMINED = 20_000  # distinct guesses; more would take minutes
MAX_LISTED = 200


class UncertainGrade(msgspec.Struct):
    """A guess whose grade is uncertain, with the clues at which it was given."""

    question_id: str
    clues: list[int]
    guess: str
    answer: str
    correct: float  # the grade, in [0, 1]
    reason: str


class GradeReview(msgspec.Struct):
    """The first 200 uncertain grades, among ``total``; ``looked_at`` of the ``graded`` distinct wrong guesses were examined."""

    total: int
    graded: int
    looked_at: int
    guesses: list[UncertainGrade]


def uncertain_grades(snapshot: Snapshot, runs: Sequence[str]) -> GradeReview:
    """Return the uncertain grades of some runs.

    Guesses that were graded as wrong against an answer line are examined, up to 20,000 distinct ones. Those that would be
    prompted on come first; within both groups, guesses are in the dataset's order of questions.
    """
    rows = snapshot.rows(
        first_rows(
            f"""select question_id, any_value(q.answer) as answer, guess, min(r.correct) as correct,
                list_sort(list(distinct clue)) as clues, min(r.graded) = 'prompt' as prompted, any_value(q.position) as position
            from {snapshot.responses(runs)} r join questions q using (dataset, question_id)
            where r.graded in ('answer', 'prompt') and guess is not null and correct = 0
            group by question_id, guess""",
            "prompted desc, position, clues[1], guess",
            MAX_EXAMINED,
        )
    )
    grades = []
    for question_id, answer, guess, correct, clues, _, _, _ in rows:
        reason = doubt(answer, guess)
        if reason:
            grades.append(UncertainGrade(question_id, clues, guess, answer, correct, reason))
    return GradeReview(len(grades), rows[0][7] if rows else 0, len(rows), grades[:MAX_LISTED])
