"""What is said of the likelier side of forecasts holds: the short form of ``benchmarks/inference.py``."""

import numpy as np
import pytest

from data.sufficient_statistics import likelier_side
from tests.helpers.forecast_simulation import ACCURACY, BASE_RATES, forecast_intervals, forecasts, true_values

SEED = 11


@pytest.mark.parametrize("base_rate", BASE_RATES)
def test_intervals_cover(base_rate):
    for measured in forecast_intervals(400, SEED, sizes=(20, 60, 200), base_rates=(base_rate,)):
        if measured.study.startswith("("):
            assert measured.measured < 0.2 or "20 questions" in measured.setting, measured
        else:
            assert not measured.missed, measured


@pytest.mark.parametrize("base_rate", BASE_RATES)
def test_the_likelier_side_is_right_as_often_as_the_forecaster(base_rate):
    probability, outcome = forecasts(np.random.default_rng(SEED), 1, 200_000, base_rate)
    confidence, correct = likelier_side(probability[0], outcome[0])
    assert correct.mean() == pytest.approx(ACCURACY, abs=0.004)
    assert np.mean(2 * correct - 1) == pytest.approx(true_values()["net_score"], abs=0.008)
    assert np.mean((confidence - correct) ** 2) == pytest.approx(true_values()["brier"], abs=0.004)
