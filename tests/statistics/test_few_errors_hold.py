"""Intervals hold where questions or errors are few: the short form of tables in ``benchmarks/inference.md``."""

import numpy as np
import pytest

from clueline.queries.engine.bootstrap import LEVEL
from tests.helpers import few_errors_simulation
from tests.helpers.few_errors_simulation import CONFIDENCES, coverage

SEED = 11
NEVER_WITHOUT = ("accuracy", "brier", "overconfidence", "net_score")
SHORT = [
    pytest.param(*setting, id=words)
    for *setting, words in few_errors_simulation.settings(sizes=(20, 60))
    if setting[2] == 1 or setting[3]
]


@pytest.mark.parametrize(("stated", "questions", "clues", "dependent"), SHORT)
def test_intervals_cover(stated, questions, clues, dependent):
    for measured in coverage(200, SEED, questions, clues, stated, dependent):
        # 200 runs, so that noise is 3.6 points; 0.1 % of correct intervals of a setting would be outside.
        assert measured.covered >= LEVEL - 0.02 - 1.7 * measured.noise, measured
        assert measured.width > 0, measured
        if measured.key in NEVER_WITHOUT:
            assert measured.without == 0, measured


def test_the_simulation_detects_the_replaced_intervals():
    random, stated = np.random.default_rng(SEED), CONFIDENCES[2]
    held = 0
    for _ in range(4):
        _, correct, _ = few_errors_simulation.simulated_runs(random, 50, 20, 1, stated)
        mean, error = correct.mean(axis=(1, 2)), correct.std(axis=(1, 2), ddof=1) / np.sqrt(20)
        held += (np.abs(mean - 0.97) <= 2.093 * error).sum()
    assert held / 200 < 0.6
