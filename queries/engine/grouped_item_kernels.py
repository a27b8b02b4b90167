"""Kernels of items, for which sums do not suffice, over many short groups of items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from queries.metrics.kernels.arrays import Floats
from queries.metrics.metric import Metric
from queries.query_time_limit import check_time_limit


def kernel_by_group(metric: Metric, confidence: Floats, correct: Floats, cuts: Sequence[int]) -> Floats:
    """What the kernel of a metric gives for each of several groups of items. Groups that are alike are computed once.

    Args:
        metric: of pairs.
        confidence, correct: in [0, 1], shape (n,), in the order of questions and clues.
        cuts: index of the first item of each group, and n.

    Returns:
        Shape (groups,), or (parts, groups) if the kernel has several metrics, of which ``Metric.own_part`` takes one.
    """
    known: dict[tuple[bytes, bytes], Floats] = {}
    values = []
    for first, end in pairwise(cuts):
        group = confidence[first:end], correct[first:end]
        key = group[0].tobytes(), group[1].tobytes()
        if key not in known:
            check_time_limit()
            known[key] = metric.of_kernel(*group)
        values.append(known[key])
    return np.stack(values, axis=-1)
