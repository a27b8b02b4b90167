"""The least and the greatest value that a metric could have if some items have a correctness, but no confidence.

The bounds are attained by some confidences in [0, 1], so no tighter ones hold.
"""

from __future__ import annotations

import numpy as np

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats

Bounds = tuple[float, float]  # NaN where the metric is undefined for any confidences


def mean_bounds(value: float, items: int, low: Floats, high: Floats) -> Bounds:
    """Return the bounds of a mean over items, of which ``items`` have a confidence, and the mean ``value`` if there are any.

    ``low`` and ``high`` are the least and the greatest value of each item without one, shape (m,).

    >>> mean_bounds(0.25, 3, np.array([0.0]), np.array([1.0]))
    (0.1875, 0.4375)
    """
    if not items + len(low):
        return np.nan, np.nan
    known = value * items if items else 0.0
    return (known + float(low.sum())) / (items + len(low)), (known + float(high.sum())) / (items + len(high))


def auroc_bounds(confidence: Floats, correct: Floats, lacking: Floats) -> Bounds:
    """Return the bounds of ``sorted_items.auroc``.

    ``confidence`` and ``correct``, shape (n,), are those of the items with a confidence, ``lacking`` the correctness of the
    others, shape (m,). All are in [0, 1], in any order. If all confidences are turned into 1 - c, the AUROC is 1 minus what it
    was, so the least value follows from the greatest one.

    >>> auroc_bounds(np.array([0.2, 0.9]), np.array([0.0, 1.0]), np.array([1.0]))
    (0.5, 1.0)
    """
    both = np.append(correct, lacking)
    all_pairs = both.sum() * (1 - both).sum()
    weight = all_pairs - (both * (1 - both)).sum()  # without the pairs of an item with itself
    if weight <= ROUNDING_TOLERANCE * all_pairs:
        return np.nan, np.nan
    high = _greatest_pairs_won(confidence, correct, lacking) / weight
    low = 1 - _greatest_pairs_won(1 - confidence, correct, lacking) / weight
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def _greatest_pairs_won(confidence: Floats, correct: Floats, lacking: Floats) -> float:
    """Return the greatest total weight of pairs that the more correct item of two can win, with ties counted as half.

    The gain of a higher confidence rises with the correctness of an item, so in the best order the lacking items ascend by
    correctness. Between two neighbouring confidences there is room for any number of them in this order. There is none above 1
    and below 0: if an item with a confidence is there, lacking items that are placed there tie with it and with each other.
    """
    order = np.argsort(confidence, kind="stable")
    confidence, right, wrong = confidence[order], correct[order], 1 - correct[order]
    first = np.searchsorted(confidence, confidence, "left")
    last = np.searchsorted(confidence, confidence, "right")
    below, above = np.append(0.0, np.cumsum(wrong)), np.append(np.cumsum(right[::-1])[::-1], 0.0)
    known = float((right * (below[first] + below[last]) / 2).sum() - (right * wrong).sum() / 2)
    values = np.unique(confidence)
    # A gap below each value and one above the last; none below 0 and above 1.
    gaps = np.append(np.searchsorted(confidence, values, "left"), len(confidence))
    open_gaps = gaps[(0 if not len(values) or values[0] > 0 else 1) : (None if not len(values) or values[-1] < 1 else -1)]
    y, distinct = np.sort(lacking), np.unique(lacking)
    between = float((np.cumsum(1 - y) - (1 - y)) @ y)  # of lacking items with each other, ascending by correctness

    def tied(start: int, end: int) -> Floats:
        """Return the weight of the pairs that each lacking item wins where it ties with the items from ``start`` to ``end``."""
        gained: Floats = (y * (below[start] + below[end]) + (1 - y) * (above[start] + above[end])) / 2
        return gained

    count = len(y)
    best_gap = [float((value * below[open_gaps] + (1 - value) * above[open_gaps]).max(initial=-np.inf)) for value in distinct]
    free = np.array(best_gap)[np.searchsorted(distinct, y)]
    position = np.arange(count)
    running = np.append(0.0, np.cumsum(y))
    # What ties within a block of lacking items cost: half the difference of correctness of each two.
    cost_of_lowest = np.append(0.0, np.cumsum(position * y - running[:-1])) / 2
    reverse = y[::-1]
    above_in_block = np.append(0.0, np.cumsum(reverse))[:-1]
    cost_of_highest = np.append(0.0, np.cumsum(above_in_block - position * reverse)) / 2
    at_zero = len(values) > 0 and values[0] <= 0
    at_one = len(values) > 0 and values[-1] >= 1
    lowest = np.append(0.0, np.cumsum(tied(0, int(gaps[1])))) - cost_of_lowest if at_zero else np.zeros(1)
    highest = np.append(0.0, np.cumsum(tied(int(gaps[-2]), int(gaps[-1]))[::-1])) - cost_of_highest if at_one else np.zeros(1)
    best = -np.inf
    in_gaps = np.append(0.0, np.cumsum(np.where(np.isfinite(free), free, 0.0)))
    for low_block in range(len(lowest)):
        high_blocks = np.arange(len(highest))[: count - low_block + 1]
        middle = in_gaps[count - high_blocks] - in_gaps[low_block]
        if not len(open_gaps):
            middle = np.where(count - high_blocks > low_block, -np.inf, 0.0)
        if len(high_blocks):
            best = max(best, float((lowest[low_block] + middle + highest[high_blocks]).max()))
    return known + between + best
