"""With ``cluster``, intervals and tests hold over questions that depend on each other; over single questions they do not."""

import pytest

from queries.engine.bootstrap import LEVEL
from tests.helpers.cluster_simulation import bands, calibrated_runs, coverage, equal_pairs, slices

SEED = 11


@pytest.mark.parametrize("clusters", [60, 30])
def test_intervals_cover(clusters):
    for measured in coverage(600, SEED, True, clusters):
        assert measured.measured >= LEVEL - 0.02 - measured.noise / 2, measured  # noise is of 3.3 standard errors


@pytest.mark.parametrize("clusters", [60, 20])
def test_equal_runs_differ_rarely(clusters):
    for measured in equal_pairs(100, SEED, True, clusters):
        assert measured.measured <= 0.06 + measured.noise / 2, measured


@pytest.mark.parametrize("clusters", [60, 20])
def test_calibrated_runs_are_rejected_rarely(clusters):
    for measured in calibrated_runs(600, SEED, True, clusters):
        assert measured.measured <= measured.nominal + 0.01 + measured.noise / 2, measured


@pytest.mark.parametrize("clusters", [60, 20])
def test_bands_hold_curves(clusters):
    for measured in bands(400, SEED, True, clusters):
        assert measured.measured >= 0.88 - measured.noise / 2, measured


@pytest.mark.parametrize("clusters", [60, 30])
def test_parts_are_significant_rarely(clusters):
    for measured in slices(400, SEED, True, clusters):
        assert measured.measured <= 0.07 + measured.noise / 2, measured


def test_single_questions_would_claim_too_much():
    """The simulation detects what ``cluster`` mends."""
    for measured in coverage(200, SEED, False):
        assert measured.measured < 0.88, measured
    for measured in equal_pairs(40, SEED, False):
        assert measured.setting.startswith("ece") or measured.measured > 0.12, measured
    for measured in calibrated_runs(200, SEED, False):
        assert measured.measured > measured.nominal + 0.08, measured
    for measured in bands(200, SEED, False):
        assert measured.measured < 0.8, measured
    for measured in slices(100, SEED, False):
        assert measured.measured > 0.12, measured
