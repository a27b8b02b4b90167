"""Item kernels evaluated by group give the values of each group alone."""

from itertools import pairwise

import numpy as np
import pytest

from queries.engine.grouped_item_kernels import values_of_groups
from queries.metrics import METRICS
from queries.metrics.metric import Metric

KERNELS = [metric for metric in METRICS if metric.pairs is not None]
SIZES = (1, 1, 3, 1, 40, 3, 1, 3)


@pytest.mark.parametrize("metric", KERNELS, ids=lambda metric: metric.key)
def test_each_group_has_the_value_it_has_alone(metric):
    """Groups of one item are often identical, and the second group of three is the first one in another order."""
    chance = np.random.default_rng(7)
    confidence = chance.choice([0.25, 0.5, 1.0], sum(SIZES))
    correct = chance.choice([0.0, 1.0], sum(SIZES))
    cuts = np.append(0, np.cumsum(SIZES)).tolist()
    confidence[cuts[5] : cuts[6]], correct[cuts[5] : cuts[6]] = confidence[2:5][::-1], correct[2:5][::-1]
    groups = [(confidence[a:b], correct[a:b]) for a, b in pairwise(cuts)]
    values = metric.select_part(values_of_groups(metric, groups))
    alone = [metric.of_pairs(*group) for group in groups]
    np.testing.assert_array_equal(values, alone)


def test_identical_groups_are_computed_once(monkeypatch):
    sizes, metric = [], KERNELS[0]
    of_kernel = Metric.kernel_values
    monkeypatch.setattr(Metric, "kernel_values", lambda self, c, y: sizes.append(len(c)) or of_kernel(self, c, y))
    values_of_groups(metric, [(np.array([c]), np.array([y])) for c, y in ((0.5, 1.0), (0.5, 1.0), (1.0, 1.0), (0.5, 0.0))])
    assert sizes == [1, 1, 1]
