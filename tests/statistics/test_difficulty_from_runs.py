"""Slopes and slices by difficulty that comes from runs: calibrated runs that know hard from easy have none."""

import pytest

from tests.helpers.difficulty_simulation import difficulty_slices, difficulty_slopes

SEED = 11


@pytest.mark.parametrize("questions", [20, 60, 200])
def test_calibrated_runs_have_no_slope(questions):
    for measured in difficulty_slopes(400, SEED, sizes=(questions,)):
        if measured.study.startswith("("):
            assert measured.missed, f"{measured}: made of its own answers too, difficulty gives calibrated runs a slope"
        else:
            assert measured.measured <= 0.06 + measured.noise, measured


@pytest.mark.parametrize(("questions", "runs"), [(60, 4), (200, 4), (60, 8)])
def test_calibrated_runs_have_no_significant_third(questions, runs):
    for measured in difficulty_slices(200, SEED, sizes=(questions,), runs=(runs,)):
        if measured.study.startswith("("):
            assert measured.missed, f"{measured}: made of its own answers too, difficulty makes slices significant"
        else:
            assert measured.measured <= 0.07 + measured.noise, measured
