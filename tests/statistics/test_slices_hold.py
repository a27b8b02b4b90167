"""Intervals of slices hold, also where questions and errors are few: the short form of ``benchmarks/inference.py``."""

import pytest

from tests.helpers.slice_simulation import RUNS, slice_intervals

SEED = 11


@pytest.mark.parametrize("runs", RUNS)
def test_intervals_cover(runs):
    for measured in slice_intervals(400, SEED, runs=(runs,)):
        if not measured.study.startswith("("):
            assert measured.measured >= 0.93 - measured.noise / 2, measured  # noise is of 3.3 standard errors
            assert measured.boards == 400, measured
        elif " 8 questions" in measured.setting:
            assert measured.measured < 0.93, "the percentiles of the bootstrap, which it replaced, do not cover"
