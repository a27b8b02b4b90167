"""Tests and intervals of arrays, against definitions and hand-worked values; ``tests/statistics`` simulates them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clueline.queries.engine import inference
from tests.helpers.simulation import jackknife_t_test


def test_a_t_test_of_means_is_the_textbooks():
    values = np.random.default_rng(1).normal(0.3, 1, 25)
    expected = stats.ttest_1samp(values, 0).pvalue
    assert jackknife_t_test(values.mean(), values) == pytest.approx(expected, rel=1e-12)
    low, high = inference.jackknife_t_interval(values.mean(), values)
    assert (low, high) == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.95))


@pytest.mark.parametrize(
    ("estimate", "questions", "expected"),
    [
        *((0.3, questions, 2.0 ** (1 - questions)) for questions in (2, 3, 5, 10)),  # what sign flips allow
        (0.0, 20, 1), (1e-17, 20, 1),
        (0.3, 1, math.nan), (math.nan, 5, math.nan),
    ],
)  # fmt: skip
def test_p_values_of_questions_that_agree(estimate, questions, expected):
    p_value = jackknife_t_test(np.asarray(estimate), np.full(questions, np.nan_to_num(estimate)))
    assert p_value == pytest.approx(expected, abs=0, nan_ok=True)


def test_errors_of_all_pairs_are_those_of_each():
    random = np.random.default_rng(2)
    values = random.normal(size=(30, 4))
    values[random.random(values.shape) < 0.2] = math.nan
    errors, counts = inference.difference_errors(values)
    for a, b in itertools.combinations(range(4), 2):
        difference = (values[:, a] - values[:, b])[:, None]
        difference = difference[np.isfinite(difference).all(axis=1)]
        assert counts[a, b] == len(difference)
        assert errors[a, b] == errors[b, a] == pytest.approx(inference.standard_error(difference)[0], rel=1e-9)


@pytest.mark.parametrize("questions", [2, 3, 30])
def test_the_interval_from_influences_on_a_mean_is_students(questions):
    values = np.random.default_rng(7).normal(size=questions)
    influence = ((values - values.mean()) / questions)[:, None]
    moments = inference.Moments.within(influence, np.ones((questions, 1), bool))
    low, high = inference.influence_interval(values.mean(keepdims=True), [moments])
    assert (low[0], high[0]) == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval(0.95)))


# -- distances from calibration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["sum", "maximum", "square", "walk", "curve"])
def test_a_run_far_from_calibrated_is_detected(distance):
    random = np.random.default_rng(4)
    noise = random.normal(size=(60, 1, 5))
    items = np.full((1, 5), 60.0)
    assert inference.calibration_test(noise, items, distance)[0] > 0.01
    assert inference.calibration_test(noise + 1, items, distance)[0] == 1 / 2048


@pytest.mark.parametrize("distance", ["sum", "maximum", "square", "walk"])
def test_a_run_with_few_errors_is_tested_alike_among_others(distance):
    random = np.random.default_rng(4)
    confidence = np.sort(random.uniform(0.8, 1, (5, 40)), axis=1)  # 40 questions of one item, each a cell of its own
    items, clustered = np.ones((5, 40)), np.array([1.0, 1.0, 2.0, 1.5, 1.0])
    items[1, :20] = 0.0
    residuals = items * (confidence - (random.random((5, 40)) < 0.95))
    cells = np.eye(40)[:, None, :]
    arguments = (residuals.T[:, :, None] * cells, items, confidence * items, clustered)

    def p_values(runs):
        sums, *others = arguments
        return inference.rare_outcomes_test(sums[:, runs], *(values[runs] for values in others), distance)

    assert [p_values([run])[0] for run in range(5)] == p_values([0, 1, 2, 3, 4]).tolist()


def test_a_distance_interval_contains_0_unless_tested_otherwise():
    random = np.random.default_rng(5)
    replicates = np.abs(random.normal(0.1, 0.02, (1000, 2)))
    low, high = inference.distance_interval(np.array([0.1, 0.1]), replicates, replicates, 1.0, np.array([0.2, 0.001]))
    assert low[0] == 0 and low[1] == pytest.approx(0.06, abs=0.01)
    assert high == pytest.approx([0.14, 0.14], abs=0.01)


# -- Wilson ------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_is_scipys(items, data):
    right = data.draw(st.integers(0, items))
    expected = stats.binomtest(right, items).proportion_ci(0.95, "wilson")
    low, high = inference.wilson_interval(np.asarray(right / items), np.asarray(float(items)))
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert high > low


def test_a_bin_without_items_has_no_interval():
    low, high = inference.wilson_interval(np.asarray(math.nan), np.asarray(0.0))
    assert math.isnan(low) and math.isnan(high)


def test_correlated_items_count_for_less():
    # Ten questions of four items each, all right or all wrong. Worth nine items: the variance is estimated with n - 1.
    items, right, variance = 40.0, 20.0, np.sum((np.repeat([0, 4], 5) - 2.0) ** 2) / 40**2 * 10 / 9
    worth = inference.effective_items(np.asarray(items), np.asarray(right), np.asarray(variance), np.asarray(10.0))
    assert worth == pytest.approx(9)
    alike = inference.effective_items(np.asarray(40.0), np.asarray(40.0), np.asarray(0.0), np.asarray(10.0))
    assert alike == 10
