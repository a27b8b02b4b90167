"""Kernels of bins of confidence.

``bin_items``, ``bin_confidence`` and ``bin_correct`` are number of items, sum of c and sum of y in each bin, shape (..., bins).
Values then have shape (...,), NaN without items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, ratio
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights

FOLDS = 16
BLOCK = 16  # items per block of running totals, from which equal-mass bins are cut
WEIGHTINGS_AT_ONCE = 250  # weightings cut together: more do not fit in the processor's cache
ROWS_AT_ONCE = 1_000  # rows whose halves fit in the processor's cache
# For each of 15 splits into halves, which folds are in the first half: rows of Sylvester's Hadamard matrix, shape (15, 16).
HALVES: Floats = (reduce(np.kron, [np.array([[1, 1], [1, -1]])] * 4)[1:] > 0).astype(float)


def fold_bins(bins: Floats, binning: str) -> Floats:
    """Convert the eleven stored bins to an equal-width binning.

    The eleventh bin of the totals, shape (..., 11), holds confidence 1. ``width10`` has ten bins, the last one closed, [0.9, 1].
    ``width10r`` also has ten: its eleventh is empty. ``width10+1`` keeps all eleven.
    """
    return bins if binning == "width10+1" else np.concatenate([bins[..., :9], bins[..., 9:].sum(axis=-1, keepdims=True)], axis=-1)


def mass_bins(confidence: Floats, correct: Floats, count: int, sizes: ArrayLike | None = None) -> tuple[Floats, Floats, Floats]:
    """Compute items, sum of confidence and sum of correctness per equal-mass bin, shape (count,). Sakai 2026; Naeini et al. 2015.

    Items, in [0, 1], shape (n,), are sorted by confidence, ties in the order given, and cut into bins whose sizes differ by at
    most one, the larger ones first. ``sizes``, shape (parts,), divides the items into consecutive parts, which are binned
    separately: results then have shape (parts, count).

    >>> mass_bins(np.array([0.9, 0.1, 0.5]), np.array([1.0, 0.0, 1.0]), 2)
    (array([2., 1.]), array([0.6, 0.9]), array([1., 1.]))
    """
    part_sizes = np.atleast_1d(np.asarray(len(confidence) if sizes is None else sizes, dtype=np.int64))
    part = np.repeat(np.arange(len(part_sizes)), part_sizes)
    order, bins = assign_mass_bins(confidence, part_sizes, count)
    shape = (count,) if sizes is None else (len(part_sizes), count)

    def added(values: Floats | None) -> Floats:
        return np.bincount(part * count + bins, values, len(part_sizes) * count).astype(float).reshape(shape)

    return added(None), added(confidence[order]), added(correct[order])


def mass_bins_of_weights(confidence: Floats, correct: Floats, weights: ItemWeights, count: int) -> Floats:
    """Compute totals per equal-mass bin of weighted items, as if each item were repeated according to its weight.

    Copies of one item can fall into two bins. Items are sorted by confidence; their weights in k weightings are whole numbers.
    Returns number of items, sum of confidence and sum of correctness in each bin, shape (3, count, k).

    >>> weights = ItemWeights(np.array([0, 1, 2]), np.array([[1.0], [0.0], [3.0]]))
    >>> mass_bins_of_weights(np.array([0.1, 0.5, 0.9]), np.array([0.0, 1.0, 1.0]), weights, 2)[:, :, 0]
    array([[2. , 2. ],
           [1. , 1.8],
           [1. , 2. ]])
    """
    cut: Floats = np.arange(count + 1.0)[:, None]

    def even(items: Floats) -> Floats:
        small, larger = np.divmod(items, count)
        return cut * small + np.minimum(cut, larger)

    return cut_bins_of_weights(confidence, correct, weights, count, even)


def cut_bins_of_weights(
    confidence: Floats, correct: Floats, weights: ItemWeights, count: int, cuts_of: Callable[[Floats], Floats]
) -> Floats:
    """Compute ``mass_bins_of_weights`` of other bins.

    ``cuts_of`` turns the number of items in each weighting, shape (k,), into the number of items before each cut, shape (count +
    1, k).
    """
    parts = [_cut_bins(confidence, correct, batch, count, cuts_of) for batch in weights.batches(WEIGHTINGS_AT_ONCE)]
    return np.concatenate([np.empty((3, count, 0)), *parts], axis=-1)


def _cut_bins(
    confidence: Floats, correct: Floats, weights: ItemWeights, count: int, cuts_of: Callable[[Floats], Floats]
) -> Floats:
    if not len(confidence):
        return np.zeros((3, count, weights.count))
    # Running totals at the ends of blocks show which block a cut falls into. Only the items of those blocks are examined.
    firsts = np.arange(0, len(confidence), BLOCK)
    columns = (np.ones_like(confidence), confidence, correct)
    before = [np.zeros((len(firsts) + 1, weights.count)) for _ in columns]
    for running, column in zip(before, columns, strict=True):
        np.cumsum(weights.totals(column, firsts), axis=0, out=running[1:])
    cuts = cuts_of(before[0][-1])  # copies before each cut, shape (count + 1, k)
    ends = np.ascontiguousarray(before[0].T)
    block = np.stack([np.searchsorted(*pair) for pair in zip(ends, cuts.T, strict=True)], axis=-1)
    block = np.clip(block - 1, 0, len(firsts) - 1)
    items = block * BLOCK + np.arange(BLOCK)[:, None, None]
    past_the_end, items = items >= len(confidence), np.minimum(items, len(confidence) - 1)
    weighting = np.arange(weights.count)
    copies = weights.by_group[weights.group[items], weighting]
    copies[past_the_end] = 0.0
    whole = np.cumsum(copies, axis=0) < cuts - before[0][block, weighting]  # items with all copies before the cut
    copies *= whole
    split = np.minimum(block * BLOCK + whole.sum(axis=0), len(confidence) - 1)  # the item at the cut
    rest = cuts - before[0][block, weighting] - copies.sum(axis=0)
    totals = [np.diff(cuts, axis=0)]
    for running, values in zip(before[1:], (confidence, correct), strict=True):
        totals.append(np.diff(running[block, weighting] + (copies * values[items]).sum(axis=0) + rest * values[split], axis=0))
    return np.stack(totals)


def assign_mass_bins(confidence: Floats, sizes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assign items, shape (n,), to equal-mass bins, separately in consecutive parts of some sizes, shape (parts,).

    Returns indices of the items sorted by part and confidence, and the bin of each item in that order, from 0; shape (n,) each.
    """
    part = np.repeat(np.arange(len(sizes)), sizes)
    return np.lexsort((confidence, part)), mass_bins_of_sorted(sizes, count)


def mass_bins_of_sorted(sizes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the equal-mass bin, from 0, of items that are sorted by confidence within each of consecutive parts, shape (n,)."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(part)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    small, larger = (of_part[part] for of_part in np.divmod(sizes, count))
    # The first ``larger`` bins hold one more item.
    return np.where(place < larger * (small + 1), place // (small + 1), (place - larger) // np.maximum(small, 1))


def ece(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Compute the expected calibration error: the sum over bins of (n_b / N) abs(mean c - mean y).

    Source: Naeini et al. 2015; GRACE app. G; LifeEval eq. 9; Sakai eq. 1. The value is in [0, 1]; 0 is best.

    >>> ece(np.array([2.0, 1.0]), np.array([0.6, 0.9]), np.array([1.0, 1.0])).round(4)  # (0.4 + 0.1) / 3
    np.float64(0.1667)
    """
    return ratio(np.abs(bin_confidence - bin_correct).sum(axis=-1), bin_items.sum(axis=-1))


def max_ce(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Compute the maximum calibration error: the largest abs(mean c - mean y) of any non-empty bin, in [0, 1]; 0 is best.

    Source: Naeini et al. 2015 and Sakai eq. 1. Both call it MCE; GRACE's MCE is a different metric.

    >>> float(max_ce(np.array([2.0, 1.0]), np.array([0.6, 0.9]), np.array([1.0, 1.0])).round(4))
    0.2
    """
    gaps = np.abs(ratio(bin_confidence - bin_correct, bin_items))  # NaN in empty bins
    return np.asarray(np.fmax.reduce(gaps, axis=-1))


def murphy(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> tuple[Floats, Floats, Floats]:
    """Decompose the Brier score over bins into reliability, resolution and uncertainty. Murphy 1973.

    brier = reliability - resolution + uncertainty + residual, which comes from the variation of confidence and correctness within
    bins. Reliability is in [0, 1], 0 is best; resolution in [0, 1/4], higher is better; uncertainty in [0, 1/4].

    >>> [float(part.round(4)) for part in murphy(np.array([2.0, 2.0]), np.array([0.4, 1.6]), np.array([0.0, 2.0]))]
    [0.04, 0.25, 0.25]
    """
    items, base = bin_items.sum(axis=-1), ratio(bin_correct.sum(axis=-1), bin_items.sum(axis=-1))
    gap = np.nan_to_num(ratio(bin_confidence - bin_correct, bin_items))
    lift = np.nan_to_num(ratio(bin_correct, bin_items)) - base[..., None]
    reliability = ratio((bin_items * gap**2).sum(axis=-1), items)
    resolution = ratio((bin_items * lift**2).sum(axis=-1), items)
    return reliability, resolution, uncertainty(items, bin_correct.sum(axis=-1))


def uncertainty(items: Floats, correct: Floats, correct_sq: Floats | None = None) -> Floats:
    """Compute the Brier score of always stating the accuracy: y (1 - y) for the mean y, in [0, 1/4]. Murphy 1973.

    With ``correct_sq``, the sum of y^2 of forecasts, it is the variance of y, which is the same unless outcomes are shares.
    """
    base = ratio(correct, items)
    return base * (1 - base) if correct_sq is None else np.maximum(ratio(correct_sq, items) - base * base, 0)


def question_folds(questions: Iterable[str]) -> Ints:
    """Assign questions to folds by a hash of their ids, so that the fold is the same in every selection and process."""
    return np.array([blake2b(question.encode(), digest_size=1).digest()[0] % FOLDS for question in questions], dtype=np.int64)


def fold_totals(gaps: Floats, items: Floats, correct: Floats, correct_sq: Floats, fold: Ints) -> dict[str, Floats]:
    """Sum the statistics of one run's questions by fold, as input of the debiased ECE.

    Gaps have shape (questions, bins), the rest (questions,). Returns the totals ``gaps_by_fold``, shape (FOLDS * bins,),
    ``items_by_fold``, shape (FOLDS,), and ``correct`` and ``correct_sq``, shape ().
    """
    by_fold, items_by_fold = np.zeros((FOLDS, gaps.shape[1])), np.zeros(FOLDS)
    np.add.at(by_fold, fold, gaps)
    np.add.at(items_by_fold, fold, items)
    return {
        "gaps_by_fold": by_fold.ravel(),
        "items_by_fold": items_by_fold,
        "correct": np.asarray(correct.sum()),
        "correct_sq": np.asarray(correct_sq.sum()),
    }


def ece_cross_fitted(gaps: Floats, items: Floats) -> Floats:
    """Compute the ECE without its upward bias, by cross-fitting: the sign of each gap from one half, its size from the other.

    abs(gap) is the gap times its sign. If both come from the same items, the sign follows the noise and the noise never cancels.
    Here half A of the questions gives the sign of each bin's gap and half B its size, and vice versa: sum over bins of (sign(A) B
    + sign(B) A) / N, where A and B are the sums of c - y in the bin. For a calibrated run the mean of B is 0 whatever the sign of
    A, so the estimate is 0 on average, however correlated the clues of a question are. If a half has no gap in a bin, it uses the
    sign of its total over all bins. The questions are in ``FOLDS`` folds, which are split into halves in ``FOLDS`` - 1 balanced
    ways, the rows of a Hadamard matrix. The result is the average over the splits in which both halves have items.
    ``benchmarks/ece_bias.py`` compares it with other corrections.

    ``gaps`` are sums of c - y in each fold and bin, shape (..., FOLDS, bins), ``items`` numbers in each fold, shape (..., FOLDS).
    The value is in [-1, 1], shape (...,), NaN where fewer than two folds have items. Source: after Chernozhukov et al. 2018
    (cross-fitting) and McCarthy 1969 (balanced half-samples).
    """
    shape = items.shape[:-1]
    gaps, items = gaps.reshape(-1, *gaps.shape[-2:]), items.reshape(-1, items.shape[-1])
    estimates = np.empty((len(gaps), len(HALVES)))
    for first in range(0, len(gaps), ROWS_AT_ONCE):
        part = gaps[first : first + ROWS_AT_ONCE]
        halves = HALVES @ part
        other = part.sum(axis=-2, keepdims=True) - halves
        estimates[first : first + ROWS_AT_ONCE] = _cross_products(halves, other).sum(axis=-1)
    in_half = items @ HALVES.T
    total = items.sum(axis=-1)
    split = (in_half > 0) & (in_half < total[..., None])
    mean = ratio(np.where(split, estimates, 0.0).sum(axis=-1), split.sum(axis=-1).astype(float))
    return np.clip(ratio(mean, total), -1.0, 1.0).reshape(shape)


def _cross_products(a: Floats, b: Floats) -> Floats:
    """Compute sign(a) b + sign(b) a with the signs of ``_signs``; shape (..., bins) in and out."""
    size_a, size_b = np.abs(a), np.abs(b)
    products: Floats = np.copysign(size_a + size_b, a * b)  # the same, but much faster, where neither is 0
    flat = ~(np.minimum(size_a, size_b) > ROUNDING_TOLERANCE).all(axis=-1)
    if flat.any():
        a, b = a[flat], b[flat]
        products[flat] = _signs(a) * b + _signs(b) * a
    return products


def _signs(gaps: Floats) -> Floats:
    """Return the sign of each gap, or of the sum over bins where the gap is 0 up to rounding; shape (..., bins) in and out."""
    together = gaps.sum(axis=-1, keepdims=True)
    signs: Floats = np.sign(
        np.where(np.abs(gaps) > ROUNDING_TOLERANCE, gaps, np.where(np.abs(together) > ROUNDING_TOLERANCE, together, 0.0))
    )
    return signs
