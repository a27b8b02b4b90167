"""Intervals of means hold where a judge errs and a hundred answers drawn at random were graded by people."""

import numpy as np
import pytest

from queries.engine.bootstrap import LEVEL
from queries.metrics import Conventions
from queries.metrics.kernels.prediction_powered import prediction_powered_mean, with_questions_of_zeros
from queries.reviewed_samples import MEANS

REPEATS = 2000
QUESTIONS, REVIEWED = 1000, 100
ERRORS = (0.05, 0.1, 0.3)
KINDS = ("both", "too lenient", "too strict")
SETTINGS = [
    pytest.param(key, accuracy, error, kind, clues, id=f"{key}-{accuracy}-{error}-{kind}-{clues}")
    for key in ("accuracy", "brier", "overconfidence")
    for accuracy in (0.6, 0.9)
    for error in ERRORS
    for kind in KINDS
    for clues in ((1, 5) if key == "accuracy" else (1,))
    if error <= {"both": 1, "too lenient": 1 - accuracy, "too strict": accuracy}[kind]
]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def answers(random, questions, accuracy, error, kind, clues):
    """Return confidence, grades of people and of the judge, each (questions, clues). Clues of a question share its ease."""
    ease = random.normal(size=(questions, 1))
    log_odds = np.log(accuracy / (1 - accuracy))
    right = (random.random((questions, clues)) < logistic(1.1 * log_odds + ease)).astype(float)
    confidence = logistic(log_odds + ease / 2 + random.normal(size=(questions, clues)))
    share = right.mean()
    chance = {
        "both": np.full_like(right, error),
        "too lenient": (right == 0) * error / (1 - share),
        "too strict": right * error / share,
    }
    wrongly = random.random((questions, clues)) < chance[kind]
    return confidence, right, np.where(wrongly, 1 - right, right)


def estimate(random, key, confidence, right, judged):
    values = [MEANS[key](confidence.ravel(), grades.ravel(), Conventions()).reshape(right.shape) for grades in (right, judged)]
    questions, clues = right.shape
    drawn, clue = random.permutation(questions)[:REVIEWED], random.integers(0, clues, REVIEWED)
    graded, judged_drawn = (clues * part[drawn, clue] for part in values)
    effect = {"accuracy": 1.0, "overconfidence": 1.0, "brier": np.sqrt(((1 - 2 * confidence) ** 2).mean())}[key]
    items = np.full(questions, float(clues))
    return prediction_powered_mean(
        values[1].sum(axis=1), items, drawn, graded, judged_drawn, items[drawn], clues * float(effect), LEVEL
    )  # fmt: skip


def coverage(key, accuracy, error, kind, clues):
    """Return how often the interval holds the mean of the population, and how often that of the judge's own mean does."""
    random = np.random.default_rng(5)
    confidence, right, _ = answers(random, 300_000, accuracy, error, kind, clues)
    truth = MEANS[key](confidence.ravel(), right.ravel(), Conventions()).mean()
    held = 0
    for _ in range(REPEATS):
        result = estimate(random, key, *answers(random, QUESTIONS, accuracy, error, kind, clues))
        assert result.low < result.value < result.high and 0 <= result.tuning <= 1
        held += result.low <= truth <= result.high
    return held / REPEATS


@pytest.mark.parametrize(("key", "accuracy", "error", "kind", "clues"), SETTINGS)
def test_the_interval_covers(key, accuracy, error, kind, clues):
    noise = np.sqrt(LEVEL * (1 - LEVEL) / REPEATS)
    measured = coverage(key, accuracy, error, kind, clues)
    assert LEVEL - 0.02 - 2 * noise <= measured <= LEVEL + 0.02 + 2 * noise, measured


@pytest.mark.parametrize("clues", [1, 3])
def test_the_interval_covers_where_runs_abstain(clues):
    """The harder a question, the more abstentions: these are never right, and nobody grades them."""
    random = np.random.default_rng(6)

    def sample(questions):
        ease = random.normal(size=(questions, 1))
        right = random.random((questions, clues)) < logistic(0.9 + ease)
        abstained = random.random((questions, clues)) < logistic(-1.5 - ease)
        judged = np.where(random.random((questions, clues)) < 0.1, ~right, right)
        return (right & ~abstained).astype(float), (judged & ~abstained).astype(float), abstained

    truth, held = sample(300_000)[0].mean(), 0
    for _ in range(REPEATS):
        right, judged, abstained = sample(QUESTIONS)
        answered = clues - abstained.sum(axis=1)
        asked = answered > 0
        drawn = random.permutation(np.flatnonzero(asked))[:REVIEWED]
        place = (random.random(REVIEWED) * answered[drawn]).astype(int)
        clue = np.argsort(abstained[drawn], axis=1, kind="stable")[np.arange(REVIEWED), place]
        graded, judged_drawn = (answered[drawn] * part[drawn, clue] for part in (right, judged))
        sums, items, zeros = judged.sum(axis=1)[asked], answered[asked].astype(float), (clues - answered).astype(float)
        index, weight = (np.cumsum(asked) - 1)[drawn], items[(np.cumsum(asked) - 1)[drawn]]
        one_error = float(np.sqrt((weight**2).mean()))
        part = prediction_powered_mean(sums, items, index, graded, judged_drawn, weight, one_error, LEVEL, zeros[asked])
        result = with_questions_of_zeros(part, items + zeros[asked], zeros[~asked], LEVEL)
        held += result.low <= truth <= result.high
    noise = np.sqrt(LEVEL * (1 - LEVEL) / REPEATS)
    assert LEVEL - 0.02 - 2 * noise <= held / REPEATS <= LEVEL + 0.02 + 2 * noise, held / REPEATS
