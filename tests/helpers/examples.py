"""How many random examples a test tries: few by default, all and many times as many in the long runs."""

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")  # `make test-long` and `make soak` set it
TIMES = {"long": 10, "soak": 20}.get(PROFILE, 1)
FEW = 10


def examples(count, **options):
    """Settings of a test of random examples, however slow the machine is.

    Args:
        count: of examples that leave little room for a fault. By default a third of them are tried, but at least ``FEW``, and
            the same at each run: a change is judged by what it changes. `make test-long` tries ten times ``count``, others at
            each run.
        options: of hypothesis.
    """
    defaults = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    tried = max(count // 3, min(count, FEW)) if PROFILE == "default" else count * TIMES
    return settings(max_examples=tried, **(defaults | options))
