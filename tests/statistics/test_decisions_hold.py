"""What the page Decide shows on simulated calibrated runs is neither too good nor too vague."""

import numpy as np
import pytest

from clueline.queries.decide import rewards
from clueline.queries.engine.bootstrap import percentile_interval, resample_clusters
from tests.helpers import decision_simulation as simulation

SEED = 11


def test_bootstrap_percentiles_of_the_net_score_do_not_cover():
    """Because wrong answers above t = .9 are few: this is what the extra question mends."""
    chance, truth, covered = np.random.default_rng(SEED), np.diagonal(simulation.true_scores(".8 to .99")), 0
    for _ in range(200):
        earned = rewards(*simulation.above(*simulation.calibrated(chance, ".8 to .99", 60, 1)))
        low, high, _ = percentile_interval(resample_clusters(earned, 60)[:, 0] / 60)
        covered += low[90] <= truth[90] <= high[90]
    assert covered / 200 < 0.85


def test_a_threshold_judged_with_hindsight_is_too_good():
    same, fitted = simulation.own_threshold_bias(400, SEED, "0 to 1", 60, 75)
    assert same > 0.05 > 0 > fitted


@pytest.mark.parametrize("seed", range(10))
def test_a_clear_difference_is_told(seed):
    """Two calibrated runs, one of which knows its chances and one of which does not, on 600 questions."""
    sharp, vague = simulation.sharp_and_vague(np.random.default_rng(seed), "0 to 1", 600, 1)
    low, high = simulation.band(sharp - vague, 1)
    assert (high[35:66] < 0).all() and not (low > 0).any()
