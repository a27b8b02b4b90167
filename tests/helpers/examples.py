"""How many random examples a test tries: enough to find a fault in each run, many times as many in the long runs."""

import os

from hypothesis import HealthCheck, settings

# `make test-long` and `make soak` set the profile.
TIMES = {"long": 10, "soak": 20}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1)


def examples(count, **options):
    """Settings of a test of so many random examples, however slow the machine is."""
    defaults = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    return settings(max_examples=count * TIMES, **(defaults | options))
