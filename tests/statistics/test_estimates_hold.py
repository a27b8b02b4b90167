"""Estimates have the right mean in simulations, however few answers there are, and on the likelier side of forecasts."""

import numpy as np
import pytest

from clueline.data.recalibration_maps import distribution_temperature, tempered
from clueline.data.sufficient_statistics import likelier_side
from clueline.queries.engine.inference import interval_of_mean, wilson_interval
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.sorted_items import auroc
from tests.helpers.forecast_simulation import ACCURACY, BASE_RATES, forecasts, true_values

SEED = 11


def graded_auroc(random, answers):
    """Return the AUROC of answers whose grade, in [0, 1], is their confidence with noise."""
    confidence = np.sort(random.random(answers))
    grade = np.clip(confidence + 0.3 * random.normal(size=answers), 0, 1)
    return float(auroc(confidence, grade, ItemWeights.equal(answers))[0])


def test_few_graded_answers_have_the_auroc_of_many():
    random = np.random.default_rng(SEED)
    many = np.mean([graded_auroc(random, 2000) for _ in range(50)])
    few = np.array([graded_auroc(random, 15) for _ in range(4000)])
    assert few.mean() == pytest.approx(many, abs=0.003 + 3 * few.std() / np.sqrt(len(few)))


@pytest.mark.parametrize("true", [0.5, 2.0, 3.5])
def test_the_temperature_of_whole_distributions_is_found(true):
    random = np.random.default_rng(SEED)
    first, estimates = 3 * np.arange(300), []
    for _ in range(300):
        shares = random.dirichlet(np.ones(3), 300)
        chances = tempered(shares, np.full(300, 1 / true))
        gold = (random.random((300, 1)) > np.cumsum(chances, axis=1)[:, :2]).sum(axis=1)
        estimates.append(distribution_temperature(shares.ravel(), first, first + gold))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert np.mean(estimates) == pytest.approx(1 / true, abs=0.03 / true + 3 * error)


def test_intervals_of_means_over_datasets_cover():
    """Means of five shares, some rare, by Wilson's intervals of each: 95 % of the intervals hold the mean of the true shares."""
    random, share, sizes = np.random.default_rng(SEED), np.array([0.05, 0.3, 0.6, 0.85, 0.95]), np.array([40, 60, 30, 200, 80])
    held = 0
    for right in random.binomial(sizes, share, (2_000, 5)):
        values = right / sizes
        low, high = interval_of_mean(values, *wilson_interval(values, sizes))
        held += low <= share.mean() <= high
    assert 0.94 <= held / 2_000 <= 0.97


@pytest.mark.parametrize("base_rate", BASE_RATES)
def test_the_likelier_side_is_right_as_often_as_the_forecaster(base_rate):
    probability, outcome = forecasts(np.random.default_rng(SEED), 1, 200_000, base_rate)
    confidence, correct = likelier_side(probability[0], outcome[0])
    assert correct.mean() == pytest.approx(ACCURACY, abs=0.004)
    assert np.mean(2 * correct - 1) == pytest.approx(true_values()["net_score"], abs=0.008)
    assert np.mean((confidence - correct) ** 2) == pytest.approx(true_values()["brier"], abs=0.004)
