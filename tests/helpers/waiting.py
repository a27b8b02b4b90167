"""Waiting for a condition instead of a fixed time."""

import time

PAUSE = 0.02  # seconds between checks


def wait_until(condition, seconds=300):
    """Wait until a condition holds. An assertion fails if it does not hold within this many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"nothing came of it within {seconds} seconds"
        time.sleep(PAUSE)
