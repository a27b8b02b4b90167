"""Intervals of metrics that compare confidence with people hold."""

import numpy as np
import pytest

from queries.engine.bootstrap import LEVEL
from queries.engine.intervals_and_difference_tests import metric_intervals
from queries.metrics import CATALOGUE
from tests.helpers.simulated_evidence import evidence_of, simulated

METRICS = [CATALOGUE[key] for key in ("human_tau", "human_area")]
RUNS, REPEATS = 100, 10


@pytest.fixture(scope="module")
def truth():
    evidence = evidence_of(simulated(8, 12_000, seed=99))
    return {metric.key: float(np.mean(evidence.values(metric))) for metric in METRICS}


@pytest.mark.parametrize("questions", [8, 20, 60, 200])
def test_intervals_cover(truth, questions):
    held, total = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for seed in range(REPEATS):
        evidence = evidence_of(simulated(RUNS, questions, seed=1000 * questions + seed))
        for metric in METRICS:
            low, high, *_ = metric_intervals(evidence, metric)
            known = np.isfinite(low)  # of eight questions, some have one clue, and fewer than two may have a correlation
            assert (low < high)[known].all() and (questions == 8 or known.all())
            held[metric.key] += ((low <= truth[metric.key]) & (truth[metric.key] <= high)).sum()
            total[metric.key] += known.sum()
    for key, count in held.items():
        assert total[key] > 0.95 * RUNS * REPEATS
        assert LEVEL - 0.02 - 2 * np.sqrt(LEVEL * (1 - LEVEL) / total[key]) <= count / total[key] <= 0.99, key
