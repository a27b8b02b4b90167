"""Least squares means of tables with missing cells."""

import numpy as np
import pytest

from clueline.queries.metrics.kernels.two_way_means import two_way_means


def table(seed, runs, questions, missing):
    random = np.random.default_rng(seed)
    values = random.normal(size=(questions, 1)) + random.normal(size=runs) + 0.3 * random.normal(size=(questions, runs))
    weights = (random.random((questions, runs)) >= missing).astype(float)
    weights[:, 0] = 1  # the first run answered everything
    return values, weights


@pytest.mark.parametrize("seed", range(20))
def test_a_complete_run_keeps_its_mean(seed):
    """Whoever answered everything that is expected has its plain mean, whatever the others lack."""
    values, weights = table(seed, 3 + seed % 12, 40 + 40 * seed, 0.05)
    fitted = two_way_means(values, weights, np.ones(len(values)))
    assert fitted.values[0] == pytest.approx(values[:, 0].mean(), abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.08])
def test_influences_are_derivatives(missing):
    values, weights = table(1, 6, 30, missing)
    expected = np.ones(len(values))
    fitted, step = two_way_means(values, weights, expected), 1e-6
    for question in (0, 7, 29):
        heavier = weights.copy()
        heavier[question] *= 1 + step
        moved = (two_way_means(values, heavier, expected).values - fitted.values) / step
        assert fitted.influence[question] == pytest.approx(moved, abs=1e-5)


def test_effects_without_noise_are_found():
    random = np.random.default_rng(4)
    runs, questions = random.normal(size=5), random.normal(size=30)
    weights = (random.random((30, 5)) > 0.3).astype(float)
    expected = (np.arange(30) < 20).astype(float)
    fitted = two_way_means(questions[:, None] + runs, weights, expected)
    assert fitted.values == pytest.approx(runs + questions[:20].mean())


def test_a_run_without_answers_has_no_mean():
    values, weights = table(2, 4, 20, 0.0)
    weights[:, 3] = 0
    assert np.isnan(two_way_means(values, weights, np.ones(20)).values).tolist() == [False, False, False, True]
