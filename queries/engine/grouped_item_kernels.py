"""Item-level kernels, which cannot be computed from sums, over many short groups of items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from queries.metrics.kernels.arrays import Floats
from queries.metrics.metric import Metric
from queries.query_time_limit import check_time_limit


def kernel_by_group(metric: Metric, confidence: Floats, correct: Floats, cuts: Sequence[int]) -> Floats:
    """Compute the kernel of a metric of pairs for each of several groups of items. Identical groups are computed once.

    Items are in the order of questions and clues; ``cuts`` are the index of the first item of each group, and their number.
    Returns shape (groups,), or (metrics, groups), from which ``Metric.select_part`` picks one.
    """
    known: dict[tuple[bytes, bytes], Floats] = {}
    values = []
    for first, end in pairwise(cuts):
        group = confidence[first:end], correct[first:end]
        key = group[0].tobytes(), group[1].tobytes()
        if key not in known:
            check_time_limit()
            known[key] = metric.kernel_values(*group)
        values.append(known[key])
    return np.stack(values, axis=-1)
