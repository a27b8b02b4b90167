"""Writes the bundle ``lifeeval``: the task's 808 questions, answered by five formula-based reference forecasters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.life_table import LAST_AGE, RADII, best_guess, death_probabilities, survivors
from data.sample.reproducible import write_csv, write_json

FOLDER = Path(__file__).parent / "lifeeval"
MAX_AGE = 100  # years: the highest minimum age that is asked about
DECIMALS = 12  # of a confidence
TABLE_DECIMALS = 6  # of a death probability, in the life table
ADULT = range(30, 96)  # ages at which Gompertz's law is fitted
DATASET = {
    "dataset": "lifeeval",
    "title": "LifeEval",
    "kind": "lifeeval",
    "simulated": False,
    "licence": "MIT (wording of the questions); the life table is in the public domain",
    "source": "The task: LifeEval (arXiv 2605.23909). The life table: U.S. Social Security Administration, "
    "period life table 2022 (public domain)",
    "note": "Answered by five formula-based reference forecasters, not language models.",
}


class Question(NamedTuple):
    """When, within ``radius`` years, does a person of this sex die who has reached ``minimum_age`` years?"""

    question_id: int
    sex: str
    minimum_age: int
    radius: int


class Answer(NamedTuple):
    """An age at death in whole years and the stated probability in [0, 1] that it is right."""

    guess: int
    confidence: float


def questions() -> list[Question]:
    """Return 808 questions, in LifeEval's order: both sexes, men first, times ages 0 to 100, times the radii."""
    people = [(sex, age, radius) for sex in ("male", "female") for age in range(MAX_AGE + 1) for radius in RADII]
    return [Question(number, *whom) for number, whom in enumerate(people)]


def wording(question: Question) -> str:
    """Return the question in words."""
    who = {"male": "man", "female": "woman"}[question.sex]
    if question.minimum_age == 0:
        who, lived = {"male": "boy", "female": "girl"}[question.sex], "has just been born"
    else:
        lived = f"has lived to the age of {question.minimum_age}"
    years = "year" if question.radius == 1 else "years"
    return (
        f"A {who} in the United States {lived}. Guess the age at death: a guess within "
        f"{question.radius} {years} of it counts as right. How probable is it that yours is?"
    )


def age_group(age: int) -> str:
    """Return the category of a question."""
    return next(f"{low}-{high}" for low, high in ((0, 24), (25, 49), (50, 74), (75, MAX_AGE)) if age <= high)


def optimal(question: Question) -> Answer:
    """Return the age with the highest probability by the life table, and that probability."""
    return Answer(*best_guess(question.radius, question.minimum_age, question.sex))


def optimal_rounded(question: Question) -> Answer:
    """Return the optimal answer with its confidence rounded to the nearest 5 %."""
    guess, confidence = optimal(question)
    return Answer(guess, round(confidence * 20) / 20)


def climatology(question: Question) -> Answer:
    """Return the best answer for a newborn of that sex, regardless of the age that the person has reached."""
    return Answer(*best_guess(question.radius, 0, question.sex))


def mean_remaining_life(question: Question) -> Answer:
    """Return the minimum age plus the mean remaining life at that age, always with 80 %.

    The guess is in whole years: a guess between two birthdays would be judged by an interval that is a year longer.
    """
    alive = survivors(question.sex)
    lived = alive[question.minimum_age + 1 :].sum() / alive[question.minimum_age]  # whole years; half a year more on average
    return Answer(int(np.floor(question.minimum_age + lived + 1.0)), 0.8)  # + 1/2, then rounded half up


def gompertz(question: Question) -> Answer:
    """Return the best age and its probability if people died by Gompertz's law, fitted to the table's adult ages."""
    alive = gompertz_survivors(question.sex)
    ages = np.arange(LAST_AGE + 2)
    low, high = (alive[np.clip(ages + side, question.minimum_age, LAST_AGE + 1)] for side in (-question.radius, question.radius))
    probability = (low - high) / alive[question.minimum_age]
    best = int(np.argmax(probability))
    return Answer(best, float(probability[best]))


@cache
def gompertz_survivors(sex: str) -> NDArray[np.float64]:
    """Return the share of newborns alive at each birthday 0..120, shape (121,), under log hazard = a + b age.

    The fit is by least squares over the adult ages. The hazard of a year of age is -log(1 - q). The last age has q = 1,
    as in the table.
    """
    hazards = -np.log1p(-death_probabilities(sex)[ADULT])
    slope, intercept = linear_regression(ADULT, np.log(hazards).tolist())
    q = -np.expm1(-np.exp(intercept + slope * np.arange(LAST_AGE + 1)))
    # Rounded to the decimals of the table: the last bits of exp and log differ between machines.
    q = np.round(q, TABLE_DECIMALS)
    q[LAST_AGE] = 1.0
    return np.concatenate([[1.0], np.cumprod(1.0 - q)])


FORECASTERS: dict[str, Callable[[Question], Answer]] = {
    "Optimal forecaster": optimal,
    "Optimal, rounded to 5 %": optimal_rounded,
    "Gompertz law": gompertz,
    "Climatology": climatology,
    "Mean remaining life, always 80 %": mean_remaining_life,
}


def make(folder: Path = FOLDER) -> None:
    """Write the bundle into a folder."""
    everyone = questions()
    write_json(folder / "dataset.json", DATASET)
    write_csv(
        folder / "questions.csv",
        [
            {"question_id": q.question_id, "text": wording(q), "category": age_group(q.minimum_age)} | q._asdict()
            for q in everyone
        ],
    )
    for number, (model, answer) in enumerate(FORECASTERS.items(), start=1):
        answers = [(question, answer(question)) for question in everyone]
        write_csv(
            folder / "responses" / f"{number}-{answer.__name__.replace('_', '-')}.csv",
            [
                {
                    "question_id": question.question_id,
                    "guess": guess,
                    "confidence": round(confidence, DECIMALS),
                    "model": model,
                    "elicitation": "computed",
                }
                for question, (guess, confidence) in answers
            ],
        )


if __name__ == "__main__":
    make()
