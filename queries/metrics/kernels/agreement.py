"""How far two orders agree."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import Floats


def tau_b(a: Floats, b: Floats) -> float:
    """Kendall's tau-b of two lists of numbers: (P - Q) / sqrt((pairs not tied in a) (pairs not tied in b)), over all pairs.

    P pairs stand in the same order in both, Q in opposite ones. In [-1, 1]; NaN where either has one value only. Kendall 1945.
    It compares every two, so it is for as many as there are runs.

    Args:
        a, b: shape (n,).
    """
    of_a, of_b = (np.sign(values[:, None] - values) for values in (a, b))
    apart = float(np.count_nonzero(of_a)) * float(np.count_nonzero(of_b))
    return float((of_a * of_b).sum() / np.sqrt(apart)) if apart else np.nan
