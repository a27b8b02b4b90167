"""Intervals hold where the population is what models really answered: the short form of ``benchmarks/inference.py``."""

import numpy as np
import pytest

from clueline.queries.engine.bootstrap import LEVEL, percentile_interval
from clueline.queries.metrics import CATALOGUE
from tests.helpers.bundled_answers_simulation import HARDEST, MEANS, OF_TOTALS, bundled_answers, coverage_of_samples
from tests.helpers.simulated_evidence import evidence_of

SEED = 11


@pytest.mark.parametrize("size", [30, 100, 300])
def test_intervals_cover(size):
    """Some of these runs have so few low confidences that samples seldom show one."""
    for row in coverage_of_samples(200, SEED, sizes=(size,), keys=(*MEANS, *OF_TOTALS, "ece"), names=HARDEST):
        noises = 3 if "lowest" in row.study else 2  # the least of four
        error = np.sqrt((LEVEL - 0.02) * (1.02 - LEVEL) / row.boards)
        assert row.measured >= LEVEL - 0.02 - noises * error, row


def test_the_simulation_detects_percentiles():
    (answers,) = bundled_answers(HARDEST[:1])
    random = np.random.default_rng(SEED)
    confidence = answers.confidence[random.integers(0, len(answers.confidence), (200, 30))][..., None]
    evidence = evidence_of((confidence, np.ones_like(confidence), np.zeros_like(confidence)))
    low, high, _ = percentile_interval(evidence.replicates(CATALOGUE["mean_confidence"]))
    held = ((low <= answers.confidence.mean()) & (answers.confidence.mean() <= high)).mean()
    assert held < 0.7
