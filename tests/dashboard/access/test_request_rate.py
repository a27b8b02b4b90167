"""The limit on requests per second, with a clock that the tests move."""

import pytest

from dashboard.access import request_rate
from dashboard.access.request_rate import RequestRate


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("per_second", "burst", "tries_per_second"), [(5, 60, 100), (50, 200, 300), (2, 1, 10)])
def test_a_flood_gets_the_burst_and_the_rate(per_second, burst, tries_per_second):
    clock = Clock()
    rate, taken, seconds = RequestRate(per_second, burst, clock), 0, 20
    for tried in range(seconds * tries_per_second):
        clock.now = tried / tries_per_second
        taken += rate.takes("ann")
    assert taken == pytest.approx(burst + per_second * seconds, abs=1.5)


def test_an_even_pace_is_never_refused():
    clock = Clock()
    rate = RequestRate(5, 1, clock)
    for step in range(500):
        clock.now = step / 5
        assert rate.takes("ann")


def test_one_flood_does_not_block_others():
    rate = RequestRate(1, 3, Clock())
    assert [rate.takes("ann") for _ in range(5)] == [True] * 3 + [False] * 2
    assert rate.takes("ben")


def test_made_up_keys_are_forgotten(monkeypatch):
    monkeypatch.setattr(request_rate, "MAX_KEYS", 100)
    clock = Clock()
    rate = RequestRate(10, 5, clock)
    for number in range(5000):
        clock.now = number / 100
        rate.takes(f"key {number}")
    assert len(rate) <= 101
