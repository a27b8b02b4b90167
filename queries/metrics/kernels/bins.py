"""Kernels of bins of confidence: totals per bin, shape (..., bins)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queries.metrics.kernels.arrays import Floats, ratio

_erf = np.frompyfunc(math.erf, 1, 1)


def fold_bins(bins: Floats, binning: str) -> Floats:
    """Bins of the store, shape (..., 11), as the binning wants them: ``width10`` puts c = 1 into its last, closed bin."""
    return bins if binning == "width10+1" else np.concatenate([bins[..., :9], bins[..., 9:].sum(axis=-1, keepdims=True)], axis=-1)


def bin_of(confidence: ArrayLike, count: int = 10) -> NDArray[np.int64]:
    """Bin of each confidence among [k/count, (k+1)/count); confidence 1 is in bin ``count``. 0.3 belongs to [0.3, 0.4)."""
    edges = np.arange(1, count + 1) / count
    return np.searchsorted(edges, np.asarray(confidence, float), side="right")


def mass_bins(confidence: Floats, correct: Floats, count: int, sizes: ArrayLike | None = None) -> tuple[Floats, Floats, Floats]:
    """Items, sum of confidence and sum of correctness per equal-mass bin, each of shape (count,) or (parts, count).

    Sorted by confidence (ties stay in the order given) and cut into ``count`` bins whose sizes differ by at most one, the
    larger ones first; with fewer items than bins the last ones are empty. Sakai 2026; Naeini et al. 2015.

    Args:
        confidence: shape (n,).
        correct: shape (n,).
        count: bins.
        sizes: how many items each part has, where they are several, one after the other, to be binned each by itself.
    """
    each = np.atleast_1d(np.asarray(len(confidence) if sizes is None else sizes, dtype=np.int64))
    part = np.repeat(np.arange(len(each)), each)
    order, bins = mass_bin_of(confidence, each, count)
    shape = (count,) if sizes is None else (len(each), count)

    def added(values: Floats | None) -> Floats:
        return np.bincount(part * count + bins, values, len(each) * count).astype(float).reshape(shape)

    return added(None), added(confidence[order]), added(correct[order])


def mass_bin_of(confidence: Floats, sizes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order of the items by confidence within their part, and the equal-mass bin of each in that order, both of shape (n,).

    Args:
        confidence: shape (n,).
        sizes: how many items each part has, one after the other.
        count: bins.
    """
    part = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((confidence, part))
    place = np.arange(len(part)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    small, larger = (of_part[part] for of_part in np.divmod(sizes, count))
    # The first ``larger`` bins hold one item more.
    return order, np.where(place < larger * (small + 1), place // (small + 1), (place - larger) // np.maximum(small, 1))


def calibration_gaps(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """abs(mean c - mean y) per bin, NaN in empty bins; shape (..., bins)."""
    return np.abs(ratio(bin_confidence - bin_correct, bin_items))


def ece(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Expected calibration error: sum over bins of (n_b / N) abs(mean c - mean y). In [0, 1].

    Source: GRACE app. G; LifeEval eq. 9; Sakai eq. 1.
    """
    return ratio(np.abs(bin_confidence - bin_correct).sum(axis=-1), bin_items.sum(axis=-1))


def max_ce(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """Maximum over non-empty bins of abs(mean c - mean y). In [0, 1]. Sakai eq. 1, Naeini et al. 2015 (there: MCE)."""
    gaps = calibration_gaps(bin_items, bin_confidence, bin_correct)
    return np.where(np.isnan(gaps).all(axis=-1), np.nan, np.nanmax(np.where(np.isnan(gaps), -np.inf, gaps), axis=-1))


def murphy(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> tuple[Floats, Floats, Floats]:
    """Reliability, resolution and uncertainty of the Brier score over bins, each of shape (...,). Murphy 1973.

    brier = reliability - resolution + uncertainty + a residual: what confidence and correctness do within bins.
    """
    items, base = bin_items.sum(axis=-1), ratio(bin_correct.sum(axis=-1), bin_items.sum(axis=-1))
    gap = np.nan_to_num(ratio(bin_confidence - bin_correct, bin_items))
    lift = np.nan_to_num(ratio(bin_correct, bin_items)) - base[..., None]
    reliability = ratio((bin_items * gap**2).sum(axis=-1), items)
    resolution = ratio((bin_items * lift**2).sum(axis=-1), items)
    return reliability, resolution, uncertainty(items, bin_correct.sum(axis=-1))


def uncertainty(items: Floats, correct: Floats) -> Floats:
    """The Brier score of always stating the accuracy: y (1 - y) for the mean y. In [0, 1/4]."""
    base = ratio(correct, items)
    return base * (1 - base)


def ece_debiased(bin_items: Floats, bin_confidence: Floats, bin_correct: Floats) -> Floats:
    """ECE minus an estimate of its bias under binomial noise; may be below 0. In [-1, 1]. Kumar, Liang & Ma 2019, sec. 5.

    The accuracy of a bin is taken as normal around what was seen, with variance y (1 - y) / n: the bias of a bin is the mean
    of abs(gap + noise) less abs(gap). What was seen has its own noise in it, so that where a model is calibrated, only
    sqrt(2) - 1 = 41 % of the bias is taken away; nothing is in bins that are all correct or all incorrect.
    """
    gap = np.nan_to_num(ratio(bin_confidence - bin_correct, bin_items))
    share = np.nan_to_num(ratio(bin_correct, bin_items))
    noise = np.sqrt(np.clip(np.nan_to_num(ratio(share * (1 - share), bin_items)), 0, None))
    z = np.clip(np.nan_to_num(ratio(gap, noise)), -40, 40)  # past which exp is 0 and erf is 1
    folded = noise * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + gap * np.asarray(_erf(z / math.sqrt(2)), float)
    folded = np.where(noise > 0, folded, np.abs(gap))
    return ratio((bin_items * (2 * np.abs(gap) - folded)).sum(axis=-1), bin_items.sum(axis=-1))
