"""Intervals of means hold where a judge errs and a hundred answers drawn at random were graded by people."""

import pytest

from queries.engine.bootstrap import LEVEL
from tests.helpers.judge_simulation import SETTINGS, reviewed_means

REPEATS = 2000


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: "-".join(map(str, setting)))
def test_the_interval_covers(setting):
    measured, by_judge = reviewed_means(REPEATS, 5, [setting])
    assert not measured.missed and measured.measured <= LEVEL + 0.02 + measured.noise, measured
    assert by_judge.measured < measured.measured, "the judge's grades alone are biased"
