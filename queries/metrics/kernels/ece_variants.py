"""Calibration errors as other projects compute them, with their bin edges and the items that they leave out.

Each is a ``Binning``: where items sorted by confidence are cut, which bins count, and how gaps are combined. Its error is a
kernel of confidence, correctness and ``ItemWeights``, as in ``kernels.sorted_items``; its bins can be drawn. Confidence and
correctness are in [0, 1], shape (n,), sorted by confidence; errors are in [0, 1], 0 is best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.fft import dct, idct

from clueline.queries.metrics.kernels.arrays import Floats, Ints, first_of_ties, ratio
from clueline.queries.metrics.kernels.bins import cut_bins_of_weights, mass_bins_of_weights
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights

SCRIPT_BIN = 100  # items per bin in the scripts of HLE and BrowseComp
GRID = 128  # points at which smECE is computed
BISECTIONS = 36  # halvings of the interval that contains the kernel width of smECE


class VariantBin(NamedTuple):
    """A bin: its edges, number of items, mean confidence and accuracy, and whether it counts in the error."""

    lower: float
    upper: float
    items: int
    mean_confidence: float
    accuracy: float
    counted: bool


@dataclass(frozen=True)
class Binning:
    """How a project puts items into bins and combines the bins.

    Attributes:
        totals: function from confidence, correctness and weights to two arrays: the number of items, sum of confidence and sum
            of correctness of each bin in each weighting, shape (3, bins, k); and 1 where the bin counts, else 0, shape
            (bins, k). Items in no bin are left out.
        edges: bin edges, shape (bins + 1,); None if they depend on the data.
        squared: whether the error is the root mean squared gap instead of the mean gap.
        fewest: minimum number of items; with fewer, the project's code fails with an error.
    """

    totals: Callable[[Floats, Floats, ItemWeights], tuple[Floats, Floats]]
    edges: Floats | None = None
    squared: bool = False
    fewest: int = 1

    def error(self, confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
        """Compute the calibration error in each of k weightings, shape (k,), NaN with too few items."""
        items = weights.sums(np.ones_like(confidence))[0]
        if not len(confidence):
            return np.full(weights.count, np.nan)
        (count, stated, right), counted = self.totals(confidence, correct, weights)
        return self._combined(stated - right, count, counted, items)

    def error_in_same_bins(self, confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
        """Compute the same, but with the bins of the data in each weighting, which is much faster and needs no whole numbers."""
        (sizes, _, _), counted = (part[..., 0] for part in self.totals(confidence, correct, ItemWeights.equal(len(correct))))
        cell = np.repeat(np.arange(len(sizes)), sizes.astype(np.int64))
        first = len(confidence) - len(cell)  # the least confident items can be in no bin
        residual, binned = (confidence - correct)[first:], ItemWeights(weights.group[first:], weights.by_group)
        gaps, count = (binned.totals_of_cells(column, cell, len(sizes)) for column in (residual, np.ones_like(residual)))
        return self._combined(gaps, count, counted[:, None], weights.sums(np.ones_like(confidence))[0])

    def _combined(self, gaps: Floats, count: Floats, counted: Floats, items: Floats) -> Floats:
        gaps = np.where(counted, np.abs(gaps), 0.0)
        if self.squared:
            error = np.sqrt(ratio((gaps * np.nan_to_num(ratio(gaps, count))).sum(axis=0), items))
        else:
            error = ratio(gaps.sum(axis=0), items)
        return np.where(items >= self.fewest, np.minimum(error, 1.0), np.nan)

    def bins(self, confidence: Floats, correct: Floats) -> list[VariantBin]:
        """Return the non-empty bins, none with too few items. Edges that depend on the data are the extremes in the bin."""
        if len(confidence) < self.fewest:
            return []
        (count, stated, right), counted = (
            part[..., 0] for part in self.totals(confidence, correct, ItemWeights.equal(len(correct)))
        )
        last = np.cumsum(count).astype(int)
        skipped = len(confidence) - last[-1]  # items in no bin, the least confident ones
        results = []
        for place in np.flatnonzero(count).tolist():
            first, end = skipped + last[place] - int(count[place]), skipped + last[place]
            lower, upper = (confidence[first], confidence[end - 1]) if self.edges is None else self.edges[place : place + 2]
            size = float(count[place])
            means = [float(column[place]) / size for column in (stated, right)]
            results.append(VariantBin(float(lower), float(upper), int(size), means[0], means[1], bool(counted[place])))
        return results

    def left_out(self, confidence: Floats, correct: Floats) -> int:
        """Return the number of items that are left out of the error, although it is divided by the number of all items."""
        if len(confidence) < self.fewest:
            return 0
        return len(confidence) - sum(part.items for part in self.bins(confidence, correct) if part.counted)


def fixed(
    edges: Floats, *, closed: str = "left", own_last: bool = False, lose_first: bool = False, squared: bool = False
) -> Binning:
    """Create a binning with fixed edges.

    ``closed`` is the end, ``left`` or ``right``, that belongs to a bin. The bin at the other end of the range is closed on both
    sides. With bins closed on the left, ``own_last`` gives confidence 1 a separate bin; on the right, ``lose_first`` leaves
    confidence 0 out.
    """
    bins = len(edges) - 1

    def cells(confidence: Floats) -> Ints:
        if closed == "right":
            place = np.searchsorted(edges, confidence, side="left") - 1
            return place if lose_first else np.maximum(place, 0)
        place = np.searchsorted(edges, confidence, side="right") - 1
        return place if own_last else np.minimum(place, bins - 1)

    def totals(confidence: Floats, correct: Floats, weights: ItemWeights) -> tuple[Floats, Floats]:
        cell = cells(confidence)
        firsts = first_of_ties(cell.astype(float))
        used = cell[firsts] >= 0
        result = np.zeros((3, bins + own_last, weights.count))
        for row, column in zip(result, (np.ones_like(correct), confidence, correct), strict=True):
            row[cell[firsts][used]] = weights.totals(column, firsts)[used]
        return result, np.ones(result.shape[1:])

    return Binning(totals, np.append(edges, 1.0) if own_last else edges, squared)


def equal_mass(count: int) -> Binning:
    """Create a binning of equal-mass bins, whose sizes differ by at most one; ties in the order of items. Naeini et al. 2015."""

    def totals(confidence: Floats, correct: Floats, weights: ItemWeights) -> tuple[Floats, Floats]:
        result = mass_bins_of_weights(confidence, correct, weights, count)
        return result, np.ones(result.shape[1:])

    return Binning(totals)


def script_bins(*, last: bool) -> Binning:
    """Create the binning of the HLE and BrowseComp scripts: bins of 100 items, the last with the remainder; root mean square.

    The script's loop ends before the last bin, so the most confident items are left out, although the sum is divided by all. The
    last bin should count with a multiple of 100 items, the script's authors say.
    """

    def totals(confidence: Floats, correct: Floats, weights: ItemWeights) -> tuple[Floats, Floats]:
        items = weights.sums(np.ones_like(confidence))[0]
        whole = np.floor(items / SCRIPT_BIN)
        count = max(int(whole.max(initial=0)), 1)
        cut = np.arange(count + 1)[:, None]

        def cuts(items: Floats) -> Floats:
            return np.where(cut < np.floor(items / SCRIPT_BIN), cut * SCRIPT_BIN, items)

        result = cut_bins_of_weights(confidence, correct, weights, count, cuts)
        bin_number = np.arange(count)[:, None]
        return result, np.where(bin_number < whole - (not last), 1.0, 0.0)

    return Binning(totals, squared=True, fewest=SCRIPT_BIN)


def mass_thresholds(count: int) -> Binning:
    """Create a binning of equal-mass bins with thresholds halfway between two items, so that equal confidences share a bin.

    This is how verified_calibration, which HELM uses, cuts bins. A tie that a cut would split belongs to the lower bin.
    """

    def totals(confidence: Floats, correct: Floats, weights: ItemWeights) -> tuple[Floats, Floats]:
        firsts = first_of_ties(confidence)
        columns = (np.ones_like(correct), confidence, correct)
        running = np.stack([np.cumsum(weights.totals(column, firsts), axis=0) for column in columns])
        items = running[0, -1]
        parts = np.maximum(np.minimum(count, items), 1)
        cut = np.arange(1, count)[:, None]
        small, larger = np.divmod(items, parts)
        cuts = np.minimum(cut * small + np.minimum(cut, larger), items)
        ends = np.ascontiguousarray(running[0].T)
        level = np.stack([np.searchsorted(*pair) for pair in zip(ends, cuts.T, strict=True)], axis=-1)
        stated = confidence[firsts]
        # Halfway between two neighbouring floats is one of the two: if it is the upper one, that one is not above the threshold.
        rounded_up = np.append((stated[:-1] + stated[1:]) / 2 >= stated[1:], False)[level]
        level += rounded_up & (np.take_along_axis(running[0], level, axis=0) == cuts)
        level = np.vstack([level, np.full(weights.count, len(firsts) - 1)])
        at_cuts = np.take_along_axis(running, np.broadcast_to(level, (3, *level.shape)), axis=1)
        result = np.diff(at_cuts, axis=1, prepend=0.0)
        return result, np.ones(result.shape[1:])

    return Binning(totals)


def smooth_ece(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute smECE: the size of the residuals y - c after smoothing by a reflected Gaussian kernel whose width equals smECE.

    smECE_s is the integral over t in [0, 1] of abs(mean of (y - c) K_s(t, c)). It decreases with s, and smECE is the s with
    smECE_s = s. Residuals are placed on a grid of 128 points, each split between its two neighbours. On this grid, the kernel is
    diagonal in the cosine basis.

    Source: Blasiok & Nakkiran 2024. The errors have shape (k,), NaN without items.

    >>> smooth_ece(np.array([0.7]), np.array([1.0]), ItemWeights.equal(1)).round(6)
    array([0.3])
    """
    place = np.clip(confidence * GRID - 0.5, 0, GRID - 1)
    below = np.minimum(place.astype(np.int64), GRID - 2)
    share = place - below
    residual = np.zeros((GRID, weights.count))
    firsts = first_of_ties(below.astype(float))
    for offset, part in ((0, (correct - confidence) * (1 - share)), (1, (correct - confidence) * share)):
        if len(firsts):
            residual[below[firsts] + offset] += weights.totals(part, firsts)
    items = weights.sums(np.ones_like(confidence))[0]
    spectrum = dct(np.nan_to_num(ratio(residual, items)), axis=0, norm="ortho")
    waves = np.pi * np.arange(GRID)[:, None]
    low, high = np.zeros(weights.count), np.ones(weights.count)
    for _ in range(BISECTIONS):
        width = (low + high) / 2
        smoothed = idct(spectrum * np.exp(-((waves * width) ** 2) / 2), axis=0, norm="ortho")
        above = np.abs(smoothed).sum(axis=0) > width
        low, high = np.where(above, width, low), np.where(above, high, width)
    return np.where(items > 0, (low + high) / 2, np.nan)


def smooth_curve(confidence: Floats, correct: Floats, width: float) -> tuple[Floats, Floats, Floats]:
    """Compute the smooth reliability diagram: accuracy by confidence, smoothed by the kernel of smECE with width smECE.

    The width is ``smooth_ece`` of the items, but at least 1 / 128, the distance between two points of the grid. Returns
    confidences, the smoothed accuracy there, and the smoothed density of items (share per unit of confidence), shape (points,)
    each, where the density is above a hundredth of its maximum. Source: Blasiok & Nakkiran 2024.
    """
    if not len(confidence):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    damped = np.exp(-((np.pi * np.arange(GRID) * max(width, 1 / GRID)) ** 2) / 2)
    place = np.clip(confidence * GRID - 0.5, 0, GRID - 1)
    below = np.minimum(place.astype(np.int64), GRID - 2)
    share = place - below
    items, right = (
        idct(
            dct(np.bincount(below, column * (1 - share), GRID) + np.bincount(below + 1, column * share, GRID), norm="ortho")
            * damped,
            norm="ortho",
        )
        for column in (np.ones_like(correct), correct)
    )
    shown = items > items.max() / 100
    density = items[shown] * GRID / len(confidence)
    return ((np.arange(GRID) + 0.5) / GRID)[shown], np.clip(right[shown] / items[shown], 0.0, 1.0), density


TENTHS: Floats = np.arange(11) / 10
BINNINGS: dict[str, Binning] = {
    "ece_width10": fixed(TENTHS),
    "ece_sklearn": fixed(np.linspace(0, 1, 11), closed="right"),
    "ece_lifeeval": fixed(TENTHS, closed="right"),
    "ece_lifeeval_text": fixed(TENTHS, own_last=True),
    "ece_torchmetrics": fixed(np.linspace(0, 1, 16), own_last=True),
    "ece_netcal": fixed(np.linspace(0, 1, 11)),
    "ece_inspect": fixed(np.linspace(0, 1, 11), closed="right", lose_first=True),
    "ece_mass10": equal_mass(10),
    "ece_mass15": equal_mass(15),
    "ece_mass100": equal_mass(100),
    "ece_helm": mass_thresholds(10),
    "rms_hle": script_bins(last=False),
    "rms_hle_whole": script_bins(last=True),
}
