"""Grades guesses: against an answer line, or by the life table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from data.dataset_kinds import FORECAST, outcome
from data.life_table import probability_within
from data.quizbowl.answer_lines import parse_answer_line

SCHEMA = {"dataset": pl.String, "question_id": pl.String, "guess": pl.String, "correct": pl.Float64, "graded": pl.String}


def doubt(line: str, guess: str | None) -> str | None:
    """Return why a person should review the grade of a guess; None if the grade is clear."""
    verdict, rule = parse_answer_line(line).judge(guess)
    return rule if verdict == "review" else None


def grade_guesses(guesses: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Grade guesses: distinct rows of ``kind, dataset, question_id, guess, answer, sex, minimum_age, radius``.

    Returns ``dataset, question_id, guess, correct, graded``. ``correct`` is in [0, 1], of a forecast the outcome, null if the
    question has no answer to grade by. ``graded`` is ``table`` (LifeEval: p(guess, radius | age, sex)), ``answer`` or ``prompt``,
    null without a grade.
    """
    rows: list[tuple[str, str, str | None, float | None, str | None]] = []
    for kind, dataset, question, guess, answer, sex, age, radius in guesses:
        correct: float | None = None
        graded: str | None = None
        if kind == FORECAST:
            correct = outcome(answer)
            graded = None if correct is None else "answer"
        elif kind == "lifeeval":
            k = _number(guess)
            correct, graded = (0.0 if k is None else float(probability_within(k, radius, age, sex))), "table"
        elif answer is not None:
            verdict = parse_answer_line(answer).grade(guess)
            correct, graded = float(verdict == "accept"), "prompt" if verdict == "prompt" else "answer"
        rows.append((dataset, question, guess, correct, graded))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _number(guess: str | None) -> float | None:
    try:
        value = float(guess or "")
    except ValueError:
        return None
    return value if abs(value) < 1e6 else None
