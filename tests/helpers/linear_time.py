"""Whether a function takes time in proportion to the length of its input."""

import time

SHORT, LONGER = 4_000, 16  # characters about, and by how many times the long input is longer
SLACK = 4  # by how many times more than in proportion it may take; twice the power would be 16
MEASURABLE = 0.02  # seconds


def assert_linear(function, make):
    """Compare the processor time of ``function(make(n))`` for a short and a long input, the least of three each."""

    def seconds(text):
        times = []
        for _ in range(3):
            began = time.process_time()
            function(text)
            times.append(time.process_time() - began)
        return min(times)

    short, long = seconds(make(SHORT)), seconds(make(SHORT * LONGER))
    assert long < MEASURABLE + SLACK * LONGER * short, f"{short:.4f} s, and {long:.4f} s for {LONGER} times as much"
