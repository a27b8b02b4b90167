"""Kernels of bins of confidence: totals per bin, shape (..., bins)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln, xlog1py, xlogy

from queries.metrics.kernels.arrays import Floats, clip, ratio

REACH = 1.5  # standard deviations of a bin's noise past which a gap is no noise; from 1 on, some outcome is always within them


def fold_bins(bins: Floats, binning: str) -> Floats:
    """Bins as a binning wants them, from the eleven bins of the store.

    Args:
        bins: totals per bin, shape (..., 11); the last bin is confidence 1.
        binning: ``width10`` has ten bins, the last one closed, [0.9, 1]. ``width10r`` has ten, too, of eleven whose last is
            empty. ``width10+1`` leaves them as they are.

    Returns:
        shape (..., 10) or (..., 11).
    """
    return bins if binning == "width10+1" else np.concatenate([bins[..., :9], bins[..., 9:].sum(axis=-1, keepdims=True)], axis=-1)


def mass_bins(confidence: Floats, correct: Floats, count: int, sizes: ArrayLike | None = None) -> tuple[Floats, Floats, Floats]:
    """Totals per equal-mass bin. Sakai 2026; Naeini et al. 2015.

    Items are sorted by confidence, ties in the order given, and cut into bins whose sizes differ by at most one. The larger bins
    come first. With fewer items than bins, the last ones are empty.

    Args:
        confidence, correct: in [0, 1], shape (n,).
        count: number of bins.
        sizes: number of items of each part, if there are several, one after the other. Each part is binned by itself.

    Returns:
        Items, sum of confidence and sum of correctness in each bin, each of shape (count,) or (parts, count).

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


def assign_mass_bins(confidence: Floats, sizes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order of the items by confidence within their part, and the equal-mass bin of each in that order.

    Args:
        confidence: shape (n,).
        sizes: number of items of each part, one after the other, shape (parts,).
        count: number of bins.

    Returns:
        Indices of the items and their bins from 0, shape (n,) each.
    """
    part = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((confidence, part))
    place = np.arange(len(part)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    small, larger = (of_part[part] for of_part in np.divmod(sizes, count))
    # The first ``larger`` bins hold one item more.
    return order, np.where(place < larger * (small + 1), place // (small + 1), (place - larger) // np.maximum(small, 1))


def calibration_gaps(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Distance of confidence and accuracy in each bin: abs(mean c - mean y).

    Args:
        bin_items, bin_confidence, bin_correct: number of items, sum of c and sum of y in each bin, shape (..., bins).

    Returns:
        In [0, 1], shape (..., bins); NaN in empty bins.
    """
    return np.abs(ratio(bin_confidence - bin_correct, bin_items))


def ece(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Expected calibration error: the sum over bins of (n_b / N) abs(mean c - mean y).

    Source: Naeini et al. 2015; GRACE app. G; LifeEval eq. 9; Sakai eq. 1.

    Args:
        bin_items, bin_confidence, bin_correct: number of items, sum of c and sum of y in each bin, shape (..., bins).

    Returns:
        In [0, 1], 0 is best; shape (...,), NaN without items.

    >>> ece(np.array([2.0, 1.0]), np.array([0.6, 0.9]), np.array([1.0, 1.0])).round(4)  # (0.4 + 0.1) / 3
    np.float64(0.1667)
    """
    return ratio(np.abs(bin_confidence - bin_correct).sum(axis=-1), bin_items.sum(axis=-1))


def max_ce(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Maximum calibration error: the largest abs(mean c - mean y) of any bin with items. Naeini et al. 2015 and Sakai eq. 1.

    Both call it MCE; GRACE's MCE is another metric.

    Args:
        bin_items, bin_confidence, bin_correct: number of items, sum of c and sum of y in each bin, shape (..., bins).

    Returns:
        In [0, 1], 0 is best; shape (...,), NaN without items.

    >>> float(max_ce(np.array([2.0, 1.0]), np.array([0.6, 0.9]), np.array([1.0, 1.0])).round(4))
    0.2
    """
    gaps = calibration_gaps(bin_items, bin_confidence, bin_correct)
    return np.where(np.isnan(gaps).all(axis=-1), np.nan, np.nanmax(np.where(np.isnan(gaps), -np.inf, gaps), axis=-1))


def murphy(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> tuple[Floats, Floats, Floats]:
    """Reliability, resolution and uncertainty of the Brier score over bins. Murphy 1973.

    brier = reliability - resolution + uncertainty + a residual, which is what confidence and correctness do within bins.

    Args:
        bin_items, bin_confidence, bin_correct: number of items, sum of c and sum of y in each bin, shape (..., bins).

    Returns:
        Reliability in [0, 1], 0 is best. Resolution in [0, 1/4], higher is better. Uncertainty in [0, 1/4]. Each of shape (...,),
        NaN without items.

    >>> [float(part.round(4)) for part in murphy(np.array([2.0, 2.0]), np.array([0.4, 1.6]), np.array([0.0, 2.0]))]
    [0.04, 0.25, 0.25]
    """
    items, base = bin_items.sum(axis=-1), ratio(bin_correct.sum(axis=-1), bin_items.sum(axis=-1))
    gap = np.nan_to_num(ratio(bin_confidence - bin_correct, bin_items))
    lift = np.nan_to_num(ratio(bin_correct, bin_items)) - base[..., None]
    reliability = ratio((bin_items * gap**2).sum(axis=-1), items)
    resolution = ratio((bin_items * lift**2).sum(axis=-1), items)
    return reliability, resolution, uncertainty(items, bin_correct.sum(axis=-1))


def uncertainty(items: Floats, correct: Floats) -> Floats:
    """The Brier score of always stating the accuracy: y (1 - y) for the mean y. Murphy 1973.

    Args:
        items, correct: number of items and sum of y, shape (...,).

    Returns:
        In [0, 1/4], shape (...,), NaN without items.
    """
    base = ratio(correct, items)
    return base * (1 - base)


def ece_debiased(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """ECE minus an estimate of its bias under binomial noise. After Kumar, Liang & Ma 2019, sec. 5.

    Kumar et al. draw noise around the accuracy that was seen, which has its own noise in it: where a model is calibrated, that
    takes away sqrt(2) - 1 = 41 % of the bias, and nothing in bins that are all correct. Here the noise of a bin is that of a
    calibrated model, X / n - p with X ~ Bin(n, p) and p the mean confidence. Its whole bias b = E abs(X / n - p) is due where
    the gap g is 0, none where g is clear of noise: the bias of a bin is b w(g) / E w(X / n - p), w(g) = (1 - abs(g) / r)+ and
    r = REACH standard deviations of the noise. Under calibration it is b on average, exactly, whatever n and p are.
    ``benchmarks/ece_bias.py`` compares it with other corrections.

    Args:
        bin_items, bin_confidence, bin_correct: number of items, sum of c and sum of y in each bin, shape (..., bins).
            A number of items that is not whole has the noise of the nearest whole number, at least 1.

    Returns:
        In [-1, 1], 0 is best; shape (...,), NaN without items.
    """
    gap = np.nan_to_num(calibration_gaps(bin_items, bin_confidence, bin_correct))
    share = clip(ratio(bin_confidence, bin_items))
    items = np.broadcast_to(np.maximum(np.rint(bin_items), 1.0), gap.shape)
    near = gap < REACH * np.sqrt(share * (1 - share) / items)  # False in empty bins and where no noise is possible
    bias = np.zeros(gap.shape)
    bias[near] = _bias_of_bin(gap[near], share[near], items[near])
    return np.clip(ratio((bin_items * (gap - bias)).sum(axis=-1), bin_items.sum(axis=-1)), -1.0, 1.0)


def _bias_of_bin(gap: Floats, share: Floats, items: Floats) -> Floats:
    """The bias b w(g) / E w(X / n - p) of ``ece_debiased``, in closed form. All of shape (cells,), share in (0, 1), items whole.

    By k b(k; n) = n p b(k - 1; n - 1), the sum of (n p - k) b(k; n) over k <= m is n p q b(m; n - 1): De Moivre's mean
    absolute deviation for m = floor(n p), and with it the mean of abs(X - n p) between any two ends.
    """
    mean, variance = items * share, items * share * (1 - share)
    reach = REACH * np.sqrt(variance)
    below, middle, above = np.ceil(mean - reach) - 1, np.floor(mean), np.floor(mean + reach)
    at_middle = _binomial(middle, items - 1, share)
    deviation = variance * (2 * at_middle - _binomial(below, items - 1, share) - _binomial(above, items - 1, share))
    inside = _binomial_up_to(above, items, share) - _binomial_up_to(below, items, share)
    expected = inside - deviation / reach
    return 2 * share * (1 - share) * at_middle * (1 - gap * items / reach) / expected


def _binomial(k: Floats, n: Floats, p: Floats) -> Floats:
    """P(X = k), X ~ Bin(n, p); 0 for k outside 0..n. Shape (cells,)."""
    possible = (k >= 0) & (k <= n)
    k = np.where(possible, k, 0.0)
    log = xlogy(k, p) + xlog1py(n - k, -p) - np.log1p(n) - betaln(n - k + 1, k + 1)
    return np.where(possible, np.exp(log), 0.0)


def _binomial_up_to(k: Floats, n: Floats, p: Floats) -> Floats:
    """P(X <= k), X ~ Bin(n, p), for any k. Shape (cells,)."""
    between = (k >= 0) & (k < n)
    return np.where(between, betainc(np.where(between, n - k, 1.0), np.where(between, k + 1, 1.0), 1 - p), k >= n)
