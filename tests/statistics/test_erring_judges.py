"""Intervals of means hold where a judge errs and a hundred answers drawn at random were graded by people."""

import numpy as np
import pytest

from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.metrics.kernels.prediction_powered import (
    prediction_powered_mean,
    typical_error,
    with_questions_of_zeros,
)
from tests.helpers.judge_simulation import QUESTIONS, REVIEWED, SETTINGS, UNEQUAL, logistic, reviewed_means, unequal_numbers

REPEATS = 2000


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: "-".join(map(str, setting)))
def test_the_interval_covers(setting):
    measured, by_judge = reviewed_means(REPEATS, 5, [setting])
    assert not measured.missed and measured.measured <= LEVEL + 0.02 + measured.noise, measured
    assert by_judge.measured < measured.measured, "the judge's grades alone are biased"


@pytest.mark.parametrize("setting", UNEQUAL, ids=lambda setting: "-".join(map(str, setting)))
def test_the_interval_covers_with_unequal_numbers(setting):
    (row,) = unequal_numbers(600, 5, [setting])
    assert not row.missed, row


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
        one_error = typical_error(weight, weight)
        part = prediction_powered_mean(sums, items, index, graded, judged_drawn, weight, one_error, LEVEL, zeros[asked])
        result = with_questions_of_zeros(part, items + zeros[asked], zeros[~asked], LEVEL)
        held += result.low <= truth <= result.high
    noise = np.sqrt(LEVEL * (1 - LEVEL) / REPEATS)
    assert LEVEL - 0.02 - 2 * noise <= held / REPEATS <= LEVEL + 0.02 + 2 * noise, held / REPEATS
