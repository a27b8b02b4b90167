"""Grades that a person should look at before a run is published."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from data.duckdb_and_polars import first_rows
from data.importing.grading import doubt
from data.store import Snapshot

MAX_EXAMINED = 20_000  # distinct guesses: more would take minutes
MAX_LISTED = 200


class UncertainGrade(msgspec.Struct):
    """A guess whose grade is uncertain, with the clues at which it was given."""

    question_id: str
    clues: list[int]
    guess: str
    answer: str
    correct: float  # as it was graded
    reason: str


class GradeReview(msgspec.Struct):
    """The uncertain grades: how many guesses, and the first of them; ``looked_at`` of ``graded`` guesses were examined."""

    total: int
    graded: int
    looked_at: int
    guesses: list[UncertainGrade]


def uncertain_grades(snapshot: Snapshot, runs: Sequence[str]) -> GradeReview:
    """Uncertain grades of some runs: guesses that were graded against an answer line, in the dataset's order of questions.

    Where there are very many distinct guesses, those that would be prompted on are examined first.
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
