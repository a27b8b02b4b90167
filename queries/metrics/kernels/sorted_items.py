"""Kernels of confidence and correctness item by item, for metrics that are no function of sums.

Each takes items sorted by confidence, ascending: ``confidence`` and ``correct`` of shape (n,), and ``ItemWeights``, which say how
often each item counts in each of k weightings, such as the replicates of a bootstrap. They give shape (k,), NaN where a metric is
undefined.
"""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import FLAT, Floats, Ints, first_of_ties, ratio
from queries.metrics.kernels.replicate_weights import ItemWeights, cumulate


def ks(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Kolmogorov-Smirnov calibration error: max over j of abs(cumsum(c - y)_j) / N. Gupta et al. 2021; Sakai eq. 4.

    Items of equal confidence are taken together, so that their order does not matter.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, in k weightings.

    Returns:
        In [0, 1], 0 is best; shape (k,), NaN without items.

    >>> ks(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), ItemWeights.equal(3)).round(4)  # (0.2 + 1.2 - 1) / 3
    array([0.1333])
    """
    return _largest_sum(confidence, correct, weights, first_of_ties(confidence))


def ks_sequential(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """``ks`` item by item, those of equal confidence in the order given, as the paper's example does. Sakai eq. 4.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, in k weightings.

    Returns:
        In [0, 1], 0 is best; shape (k,), NaN without items.
    """
    return _largest_sum(confidence, correct, weights, np.arange(len(confidence)))


def auroc(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Area under the ROC curve: the chance that a correct item has a higher confidence than an incorrect one, ties 1/2.

    Where y is a probability, an item counts as correct with weight y and as incorrect with 1 - y.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, in k weightings.

    Returns:
        In [0, 1], 1 is best; shape (k,), NaN where nothing is correct or nothing is incorrect.

    >>> auroc(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), ItemWeights.equal(3))
    array([0.75])
    """
    wrong_before, won = np.zeros((2, weights.count))
    for right, wrong in weights.totals_in_parts(first_of_ties(confidence), correct, 1 - correct):
        ties = wrong / 2
        wrong_before = cumulate(wrong, wrong_before)
        won += np.einsum("ij,ij->j", right, np.subtract(wrong, ties, out=ties))
    right_in_all, wrong_in_all = weights.sums(correct, 1 - correct)
    return np.minimum(ratio(won, right_in_all * wrong_in_all), 1.0)


def correlation(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Pearson's correlation of confidence and correctness. LifeEval table 2.

    It is computed from the items, since sums of squares cancel where the confidences of a model are close together. Centring on
    all items first leaves little to cancel in a replicate.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, in k weightings.

    Returns:
        In [-1, 1], shape (k,), NaN where either does not vary.
    """
    x, y = _centred(confidence), _centred(correct)
    items, of_x, of_y, of_xx, of_yy, of_xy = weights.sums(np.ones_like(x), x, y, x * x, y * y, x * y)
    mean_x, mean_y = ratio(of_x, items), ratio(of_y, items)
    spread_x, spread_y = _spread(of_xx, items, mean_x), _spread(of_yy, items, mean_y)
    scale = np.sqrt(spread_x) * np.sqrt(spread_y)
    return np.clip(ratio(of_xy - items * mean_x * mean_y, scale), -1.0, 1.0)


def _largest_sum(confidence: Floats, correct: Floats, weights: ItemWeights, firsts: Ints) -> Floats:
    """The largest abs of the cumulated c - y before the end of any group of items, over the number of items, shape (k,)."""
    walked, largest = np.zeros((2, weights.count))
    for (sums,) in weights.totals_in_parts(firsts, confidence - correct):
        walked = cumulate(sums, walked)
        np.maximum(largest, np.abs(sums, out=sums).max(axis=0), out=largest)
    return ratio(largest, weights.sums(np.ones_like(confidence))[0])


def _centred(values: Floats) -> Floats:
    """Values less their mean, in units of their range: exactly 0 where all are the same."""
    above = values - values.min(initial=1.0)
    widest = above.max(initial=0.0)
    above = above / widest if widest > 0 else np.zeros_like(above)
    centred: Floats = above - above.mean() if len(above) else above
    return centred


def _spread(squares: Floats, items: Floats, mean: Floats) -> Floats:
    """Sum of squared distances from the mean, exactly 0 where it is rounding: a replicate may hold one value only."""
    spread = squares - items * mean * mean
    return np.where(spread > FLAT * squares, spread, 0.0)
