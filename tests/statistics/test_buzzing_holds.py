"""Tests and intervals for teams and outcomes hold in simulations: the short form of ``benchmarks/inference.py``."""

import numpy as np

from queries.metrics.kernels.team_buzzes import equal_teams_test
from tests.helpers import buzz_simulation

SEED = 11


def test_equal_teams_are_distinguished_one_time_in_twenty():
    for measurement in buzz_simulation.equal_teams(600, SEED):
        assert abs(measurement.measured - measurement.nominal) <= measurement.noise, measurement


def test_different_teams_are_distinguished():
    random, skill = np.random.default_rng(SEED), np.linspace(-0.3, 0.3, 12)
    p_values = [equal_teams_test(*buzz_simulation.tournament(random, 12, 60, skill)) for _ in range(60)]
    assert np.mean(np.array(p_values) < 0.05) > 0.95


def test_intervals_of_outcomes_cover():
    for measurement in buzz_simulation.outcome_intervals(400, SEED):
        assert measurement.measured >= measurement.nominal - 0.01 - measurement.noise, measurement
