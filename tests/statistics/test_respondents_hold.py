"""Intervals of runs of respondents cover where people differ from each other. Intervals over questions alone do not."""

import numpy as np

from clueline.queries.engine.evidence import Evidence, Run
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.rows import Rows
from clueline.queries.engine.runs_of_many_respondents import RespondentCells
from clueline.queries.metrics import CATALOGUE, Conventions

DATASETS, QUESTIONS, PEOPLE, ANSWERS = 200, 100, 40, 10
METRIC = CATALOGUE["overconfidence"]
OVERCONFIDENCE = 0.1  # in the population of people and questions


def study(seed):
    """Return evidence of people who each answered ten questions and differ in confidence; and the same as a run of samples."""
    chance = np.random.default_rng(seed)
    person = np.repeat(np.arange(PEOPLE), ANSWERS)
    question = np.concatenate([chance.choice(QUESTIONS, ANSWERS, replace=False) for _ in range(PEOPLE)])
    ease = 0.5 + 0.2 * chance.uniform(-1, 1, QUESTIONS)
    bias = 0.25 * chance.uniform(-1, 1, PEOPLE)
    confidence = 0.5 + OVERCONFIDENCE + bias[person] + 0.1 * chance.uniform(-1, 1, len(person))
    correct = (chance.random(len(person)) < ease[question]).astype(float)
    order = np.lexsort((person, question))
    person, question, confidence, correct = (values[order] for values in (person, question, confidence, correct))
    sums = {"items": np.ones(len(person)), "confidence": confidence, "correct": correct}
    ids = np.array([f"q{index}" for index in range(QUESTIONS)], dtype=object)
    run = (Run("people", "People", "verbalized"),)
    cells = Evidence(run, ids, Conventions(), Rows(np.zeros(len(question), np.int64), question, sums))
    answered, first = np.unique(question, return_index=True)
    pooled = {name: np.add.reduceat(values, first) for name, values in sums.items()}
    rows = Rows(np.zeros(len(answered), np.int64), answered, pooled)
    both = Evidence(run, ids, Conventions(), rows, respondents={"people": RespondentCells(cells, person)})
    return both, Evidence(run, ids, Conventions(), rows)


def covers(evidence):
    interval = metric_intervals(evidence, METRIC)
    return interval.low[0] <= OVERCONFIDENCE <= interval.high[0]


def test_intervals_of_respondents_cover():
    studies = [study(seed) for seed in range(DATASETS)]
    covered = np.mean([covers(people) for people, _ in studies])
    of_questions_alone = np.mean([covers(samples) for _, samples in studies])
    assert 0.92 < covered < 0.985, covered
    assert of_questions_alone < covered - 0.04, of_questions_alone
