"""How many random examples a test tries: few by default, many more in the long runs."""

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")  # `make test-long` and `make soak` set it
TIMES = {"long": 10, "soak": 20}.get(PROFILE, 1)
FEW = 10


def examples(count, **options):
    """Return settings for a test with random examples, on machines of any speed.

    Args:
        count: number of examples that would reveal most faults. By default a third of them are tried, but at least ``FEW``, and
            the same ones in each run, so that a failure is due to a change. `make test-long` tries ten times ``count``, with
            other examples in each run.
        options: further settings of hypothesis.
    """
    defaults = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    tried = max(count // 3, min(count, FEW)) if PROFILE == "default" else count * TIMES
    return settings(max_examples=tried, **(defaults | options))


def fixed_examples(count):
    """Return settings that try the same examples each time, however large or slow they are."""
    return examples(count, derandomize=True, suppress_health_check=list(HealthCheck))
