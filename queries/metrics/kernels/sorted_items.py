"""Kernels that need the confidence and correctness of each item, for metrics that are not functions of sums.

Each takes items sorted by ascending confidence: ``confidence`` and ``correct``, in [0, 1], shape (n,), and ``ItemWeights``:
how often each item counts in each of k weightings, such as bootstrap replicates. It returns an array of shape (k,), NaN where the
metric is undefined.
"""

from __future__ import annotations

import numpy as np

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, clip, first_of_ties, ratio
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights, cumulate

STEPS = 300


def ks(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute the Kolmogorov-Smirnov calibration error: max over j of abs(cumsum(c - y)_j) / N, in [0, 1]; 0 is best.

    Items of equal confidence are taken together, so that their order does not matter. Source: Gupta et al. 2021; Sakai eq. 4.

    >>> ks(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), ItemWeights.equal(3)).round(4)  # (0.2 + 1.2 - 1) / 3
    array([0.1333])
    """
    return _largest_sum(confidence, correct, weights, first_of_ties(confidence))


def ks_sequential(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute ``ks`` item by item, with tied items in the order given, as in the paper's example. Sakai eq. 4."""
    return _largest_sum(confidence, correct, weights, np.arange(len(confidence)))


def ks_in_steps(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute ``ks_sequential`` from sums over ``STEPS`` parts of the items, plus what the data lose by that, shape (k,)."""
    step = np.arange(len(confidence)) * STEPS // max(1, len(confidence))
    residual, equal = confidence - correct, ItemWeights.equal(len(confidence))

    def largest(drawn: ItemWeights) -> Floats:
        walked = np.abs(np.cumsum(drawn.totals_of_cells(residual, step, STEPS), axis=0)).max(axis=0)
        return ratio(walked, drawn.sums(np.ones_like(confidence))[0])

    return largest(weights) + ks_sequential(confidence, correct, equal) - largest(equal)


def auroc(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute the area under the ROC curve.

    This is the probability that a correct item has a higher confidence than an incorrect one; ties count 1/2. If y is a
    probability, the item counts as correct with weight y and as incorrect with weight 1 - y, but is not paired with itself: the
    pair of items i and j weighs y_i (1 - y_j). The area is in [0, 1], 1 is best; NaN where nothing is correct, nothing is
    incorrect or there is one item.

    >>> auroc(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), ItemWeights.equal(3))
    array([0.75])
    """
    wrong_before, won = np.zeros((2, weights.count))
    for right, wrong in weights.totals_in_parts(first_of_ties(confidence), correct, 1 - correct):
        ties = wrong / 2
        wrong_before = cumulate(wrong, wrong_before)
        won += np.einsum("ij,ij->j", right, np.subtract(wrong, ties, out=ties))
    right_in_all, wrong_in_all, with_itself = weights.sums(correct, 1 - correct, correct * (1 - correct))
    pairs = right_in_all * wrong_in_all
    others = np.where(pairs - with_itself > ROUNDING_TOLERANCE * pairs, pairs - with_itself, 0.0)
    return clip(ratio(won - with_itself / 2, others))


def correlation(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute the Pearson correlation of confidence and correctness. LifeEval table 2.

    It is computed from the items because sums of squares cancel if a model's confidences are close together. Both are first
    centred on all items, which leaves little to cancel in a replicate. It is in [-1, 1], and NaN where either does not vary.
    """
    x, y = _centred(confidence), _centred(correct)
    items, of_x, of_y, of_xx, of_yy, of_xy = weights.sums(np.ones_like(x), x, y, x * x, y * y, x * y)
    mean_x, mean_y = ratio(of_x, items), ratio(of_y, items)
    spread_x, spread_y = _spread(of_xx, items, mean_x), _spread(of_yy, items, mean_y)
    scale = np.sqrt(spread_x) * np.sqrt(spread_y)
    return np.clip(ratio(of_xy - items * mean_x * mean_y, scale), -1.0, 1.0)


def _largest_sum(confidence: Floats, correct: Floats, weights: ItemWeights, firsts: Ints) -> Floats:
    """Return the largest absolute cumulative sum of c - y at the end of a group of items, divided by the number of items."""
    walked, largest = np.zeros((2, weights.count))
    for (sums,) in weights.totals_in_parts(firsts, confidence - correct):
        walked = cumulate(sums, walked)
        np.maximum(largest, np.abs(sums, out=sums).max(axis=0), out=largest)
    return ratio(largest, weights.sums(np.ones_like(confidence))[0])


def _centred(values: Floats) -> Floats:
    """Subtract the mean and divide by the range; exactly 0 if all values are equal."""
    above = values - values.min(initial=1.0)
    widest = above.max(initial=0.0)
    above = above / widest if widest > 0 else np.zeros_like(above)
    centred: Floats = above - above.mean() if len(above) else above
    return centred


def _spread(squares: Floats, items: Floats, mean: Floats) -> Floats:
    """Return the sum of squared deviations from the mean; exactly 0 if it is rounding error, as for a single distinct value."""
    spread = squares - items * mean * mean
    return np.where(spread > ROUNDING_TOLERANCE * squares, spread, 0.0)
