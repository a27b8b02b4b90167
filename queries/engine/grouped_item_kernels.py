"""Item-level kernels, which cannot be computed from sums, over many short groups of items."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from queries.metrics.kernels.arrays import Floats
from queries.metrics.metric import Metric
from queries.query_time_limit import check_time_limit


def values_of_groups(metric: Metric, groups: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Compute the kernel of a metric of pairs for groups of items, given by confidence and correctness.

    Equal groups are computed once. Returns shape (groups,), or (metrics, groups), from which ``Metric.select_part`` picks one.
    """
    known: dict[tuple[bytes, bytes], Floats] = {}
    values = []
    for group in groups:
        key = group[0].tobytes(), group[1].tobytes()
        if key not in known:
            check_time_limit()
            known[key] = metric.kernel_values(*group)
        values.append(known[key])
    if not values:  # a call without items gives the shape
        return metric.kernel_values(*np.zeros((2, 0)))[..., None][..., :0]
    return np.stack(values, axis=-1)
