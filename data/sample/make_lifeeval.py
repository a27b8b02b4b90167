"""Writes the bundle ``lifeeval``, the task's 808 questions, and the bundles ``lifeeval-SET`` of five other sets of questions.

LifeEval is answered by five formula-based reference forecasters, eleven language models and people, the other sets by the models.
The formulas need nothing else. ``python -m clueline.data.sample.make_lifeeval FOLDER`` also writes the answers of models and
people, from a folder with the release: ages, confidences and grades, and nothing that a model said or a person is known by.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import frame, literal
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.life_table import LAST_AGE, RADII, best_guess, death_probabilities, survivors
from clueline.data.sample.reproducible import write_csv, write_json
from clueline.data.store import Snapshot, open_store

FOLDER = Path(__file__).parent / "lifeeval"
RELEASE = "LifeEval (arXiv 2605.23909), github.com/NoamMichael/Comparing-Confidence-in-LLMs at 560aae77, MIT"
MAX_AGE = 100  # years: the highest minimum age that is asked about
DECIMALS = 12  # of a confidence
TABLE_DECIMALS = 6  # of a death probability, in the life table
ADULT = range(30, 96)  # ages at which Gompertz's law is fitted
DATASET = {
    "dataset": "lifeeval",
    "title": "LifeEval",
    "kind": "lifeeval",
    "simulated": False,
    "licence": "MIT; the life table is in the public domain",
    "source": f"The task, and the answers of models and people: {RELEASE}. The life table: U.S. Social Security "
    "Administration, period life table 2022 (public domain)",
    "note": "Ages and confidences of eleven language models, 98 people and five formula-based reference forecasters. Models and "
    "people were asked in the words of the release, which are not included. Nothing says which answers are of one person, so "
    "intervals of People are those of independent answers.",
}
# Titles of the other sets, and where their questions are from, by their names in the release.
SETS = {
    "boolq_valid": ("BoolQ", "BoolQ, validation set (Clark et al. 2019)"),
    "sciq_test": ("SciQ", "SciQ, test set (Welbl et al. 2017)"),
    "lsat_ar_test": ("LSAT-AR", "LSAT, analytical reasoning, test set (Zhong et al. 2022)"),
    "sat_en": ("SAT-EN", "SAT, English, of AGIEval (Zhong et al. 2023)"),
    "halu_eval_qa": ("HaluEval", "HaluEval, questions (Li et al. 2023)"),
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
    columns = ("question_id", "text", "category", "sex", "minimum_age", "radius")
    write_csv(folder / "questions.csv", columns, ((q[0], wording(q), age_group(q.minimum_age), *q[1:]) for q in everyone))
    for number, (model, forecaster) in enumerate(FORECASTERS.items(), start=1):
        path = folder / "responses" / f"{number}-{forecaster.__name__.replace('_', '-')}.csv"
        answers = ((question.question_id, *forecaster(question)) for question in everyone)
        rows = ((question, guess, round(share, DECIMALS), model, "computed") for question, guess, share in answers)
        write_csv(path, ("question_id", "guess", "confidence", "model", "elicitation"), rows)


def make_released(release: Path, samples: Path = FOLDER.parent) -> None:
    """Write the answers of models and people from a folder with the release, by way of a store, into a folder of bundles.

    They are rows of the store, so that an import of LifeEval's files into a store with these bundles finds the same runs. On the
    other sets, stated confidences are called verbalized as on LifeEval, which makes one row of a model on all sets.
    """
    with TemporaryDirectory() as scratch:
        store = open_store(Path(scratch) / "store", threads=1)
        import_paths(store, [release / "life_eval_formatted.csv"], ImportOptions())
        for path in sorted((release / "answers").iterdir()):
            import_paths(store, [path], ImportOptions(model=path.stem.removeprefix("life_eval_")))
        import_paths(store, [release / "fin_le_data.csv", release / "llm-confidence-correct.csv"], ImportOptions())
        snapshot = store.snapshot()
        people = "model = 'People'"
        _write_answers(snapshot, f"dataset = 'lifeeval' and not {people}", samples / "lifeeval" / "responses" / "models.parquet")
        _write_answers(snapshot, f"dataset = 'lifeeval' and {people}", samples / "lifeeval" / "responses" / "people.parquet")
        for name, (title, source) in SETS.items():
            dataset = f"lifeeval-{name.replace('_', '-')}"
            write_json(samples / dataset / "dataset.json", {
                "dataset": dataset, "title": title, "kind": "single", "licence": "MIT",
                "source": f"{RELEASE}. The questions: {source}, not included",
                "note": "Confidences and grades of eleven language models. The texts of questions and answers are not included.",
            })  # fmt: skip
            rows = snapshot.rows(f"select question_id from questions where dataset = {literal(dataset)} order by position")
            write_csv(samples / dataset / "questions.csv", ["question_id"], rows)
            _write_answers(snapshot, f"dataset = {literal(dataset)}", samples / dataset / "responses" / "models.parquet")


def _write_answers(snapshot: Snapshot, which: str, path: Path) -> None:
    """Write the answers of some runs to a file. Several answers to a question are numbered by age and confidence."""
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = [run for (run,) in snapshot.rows(f"select run from runs where {which} order by elicitation, model")]
    answers = f"""select question_id, nullif(guess, 'ERROR') as guess, if(r.failed, null, confidence) as confidence,
            if(graded = 'file', correct::utinyint, null) as correct, nullif(r.failed, false) as failed, state,
            case when sample is not null then row_number() over (partition by question_id, run order by guess, confidence) end
                ::varchar as sample, model, if(elicitation = 'stated', 'verbalized', elicitation) as elicitation
        from {snapshot.responses(runs)} r join runs using (dataset, run) join questions q using (dataset, question_id)
        order by elicitation, model, q.position, sample"""
    rows = frame(snapshot.connection, answers)
    given = [column for column in rows.columns if rows[column].count()]
    rows.select(given).write_parquet(path, compression="zstd", compression_level=19)


if __name__ == "__main__":
    make()
    for release in sys.argv[1:]:
        make_released(Path(release))
