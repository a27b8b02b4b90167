"""How many random examples a test tries: enough to find a fault in each run, many times as many in the long runs."""

import os

from hypothesis import settings

# `make test-long` and `make soak` set the profile.
TIMES = {"long": 10, "soak": 20}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1)


def examples(count, **options):
    """Settings of a test of so many random examples; the first one may be slow, so that there is no deadline."""
    return settings(max_examples=count * TIMES, **({"deadline": None} | options))
