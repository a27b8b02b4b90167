"""Intervals of metrics that compare confidence with people hold."""

import pytest

from tests.helpers.likeness_simulation import likeness_intervals


@pytest.mark.parametrize("questions", [8, 20, 60, 200])
def test_intervals_cover(questions):
    for measured in likeness_intervals(1000, 1, sizes=(questions,)):
        assert measured.boards > 950, "nearly all have an interval"
        assert not measured.missed and measured.measured <= 0.99, measured
