"""Calibration errors of other projects against functions written from their definitions, including edge cases."""

import math
from bisect import bisect_left
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.metrics import CATALOGUE, VARIANTS
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.ece_variants import BINNINGS, smooth_ece
from tests.helpers.examples import examples

CONFIDENCE = st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2, 0.6, 0.7, 0.95, 1.0]) | st.integers(0, 100).map(lambda k: k / 100)
ITEMS = st.lists(st.tuples(CONFIDENCE, st.sampled_from([0.0, 1.0])), min_size=1, max_size=30)


def value(key, items):
    confidence, correct = np.array(items, float).reshape(-1, 2).T
    return CATALOGUE[key].of_pairs(confidence, correct)


def mean_gap(cells, items):
    """Sum over cells of (items in the cell / all items) |mean c - mean y|. An item whose cell is None is in no bin."""
    bins = {}
    for cell, item in zip(cells, items, strict=True):
        if cell is not None:
            bins.setdefault(cell, []).append(item)
    return math.fsum(abs(math.fsum(c - y for c, y in part)) for part in bins.values()) / len(items)


def last_edge_not_above(edges, c):
    return max(k for k, edge in enumerate(edges) if edge <= c)


LINSPACE = [float(edge) for edge in np.linspace(0, 1, 11)]
CELLS = {
    # exact floor: 0.3 is three tenths, and a value slightly above it belongs to the same bin
    "ece_width10": lambda c: min(last_edge_not_above([k / 10 for k in range(11)], c), 9),
    # np.searchsorted(bins[1:-1], y_prob)
    "ece_sklearn": lambda c: bisect_left(LINSPACE[1:-1], c),
    "ece_lifeeval": lambda c: max(bisect_left([k / 10 for k in range(11)], c) - 1, 0),
    "ece_lifeeval_text": lambda c: last_edge_not_above([k / 10 for k in range(11)], c),
    # torch.bucketize(confidences, bin_boundaries, right=True) - 1, with a bin for confidence 1
    "ece_torchmetrics": lambda c: last_edge_not_above([float(edge) for edge in np.linspace(0, 1, 16)], c),
    # np.histogram: half-open bins, the last one closed
    "ece_netcal": lambda c: min(last_edge_not_above(LINSPACE, c), 9),
    # np.digitize(confidence, bin_edges, right=True) - 1; only bins 0 to 9 are visited
    "ece_inspect": lambda c: None if c == 0 else bisect_left(LINSPACE, c) - 1,
}


@pytest.mark.parametrize("key", CELLS)
@examples(60)
@given(items=ITEMS)
def test_bins_of_equal_width(key, items):
    assert value(key, items) == pytest.approx(mean_gap([CELLS[key](c) for c, _ in items], items), abs=1e-12)


def parts_of(items, count):
    """Split sorted items into ``count`` parts, the larger ones first, as np.array_split does."""
    ranked = sorted(items, key=lambda item: item[0])
    small, larger = divmod(len(items), count)
    ends = [small * k + min(k, larger) for k in range(count + 1)]
    return [ranked[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("count", [10, 15, 100])
@examples(40)
@given(items=ITEMS)
def test_bins_of_equal_mass(count, items):
    parts = parts_of(items, count)
    expected = math.fsum(abs(math.fsum(c - y for c, y in part)) for part in parts) / len(items)
    assert value(f"ece_mass{count}", items) == pytest.approx(expected, abs=1e-12)


def helm(items, count=10):
    """ECE of HELM: thresholds lie halfway between parts, and an item belongs to the first threshold that is not below it."""
    parts = parts_of(items, min(count, len(items)))
    thresholds = sorted({(a[-1][0] + b[0][0]) / 2 for a, b in pairwise(parts)} | {1.0})
    return mean_gap([bisect_left(thresholds, c) for c, _ in items], items)


@examples(60)
@given(items=ITEMS)
def test_thresholds_of_helm(items):
    assert value("ece_helm", items) == pytest.approx(helm(items), abs=1e-12)


def script(items, last, size=100):
    """RMS error of the scripts: bins[-1] takes the rest, and the loop skips it unless ``last``.

    Raises:
        IndexError: there is no bin.
    """
    ranked = sorted(items, key=lambda item: item[0])
    bins = [[k * size, (k + 1) * size] for k in range(len(ranked) // size)]
    bins[-1][1] = len(ranked)
    error = 0.0
    for start, end in bins if last else bins[:-1]:
        part = ranked[start:end]
        gap = math.fsum(c - y for c, y in part) / len(part)
        error += len(part) / len(ranked) * gap**2
    return math.sqrt(error)


@pytest.mark.parametrize("key, last", [("rms_hle", False), ("rms_hle_whole", True)])
@pytest.mark.parametrize("count", [100, 199, 200, 299, 350, 420])
def test_bins_of_the_scripts(key, last, count):
    chance = np.random.default_rng(count)
    items = [*zip(chance.random(count).round(2), chance.integers(0, 2, count).astype(float), strict=True)]
    assert value(key, items) == pytest.approx(script(items, last), abs=1e-9)


def test_scripts_end_with_an_error_below_a_hundred_items():
    with pytest.raises(IndexError):
        script([(0.5, 1.0)] * 99, last=False)
    assert math.isnan(value("rms_hle", [(0.5, 1.0)] * 99)) and math.isnan(value("rms_hle_whole", [(0.5, 1.0)] * 99))
    assert value("rms_hle", [(1.0, 0.0)] * 199) == 0  # its only bin does not count
    assert value("rms_hle_whole", [(1.0, 0.0)] * 199) == 1


@pytest.mark.parametrize("key", BINNINGS)
@examples(20)
@given(items=ITEMS)
def test_bins_hold_all_items_except_those_left_out(key, items):
    # A stable sort puts items of equal confidence into the same parts as the metric does.
    confidence, correct = np.array(sorted(items, key=lambda item: item[0]), float).T
    binning = BINNINGS[key]
    bins = binning.bins(confidence, correct)
    if len(items) < binning.fewest:
        assert bins == []
        return
    counted = [part for part in bins if part.counted]
    assert sum(part.items for part in counted) + binning.left_out(confidence, correct) == len(items)
    gap = math.fsum(part.items * abs(part.mean_confidence - part.accuracy) for part in counted) / len(items)
    assert gap == pytest.approx(value(key, items), abs=1e-9)
    assert all(part.lower <= part.mean_confidence + 1e-12 and part.mean_confidence <= part.upper + 1e-12 for part in bins)


@pytest.mark.parametrize("metric", VARIANTS, ids=lambda metric: metric.key)
def test_weights_count_items_as_often_as_they_are_drawn(metric):
    chance = np.random.default_rng(5)
    confidence = np.sort(chance.random(130).round(2))
    correct = (chance.random(130) < confidence).astype(float)
    drawn = np.stack([chance.multinomial(130, np.full(130, 1 / 130)) for _ in range(3)], axis=1).astype(float)
    values = metric.pairs(confidence, correct, ItemWeights(np.arange(130), drawn))
    for weights, result in zip(drawn.T.astype(int), values, strict=True):
        expected = metric.of_pairs(np.repeat(confidence, weights), np.repeat(correct, weights))
        assert result == pytest.approx(expected, abs=1e-9, nan_ok=True)


def smooth_by_definition(confidence, correct):
    """Evaluate the kernel with its reflections on 1,000 points and find the width that equals the resulting error."""
    points = (np.arange(1000) + 0.5) / 1000

    def error(width):
        smoothed = np.zeros_like(points)
        for c, y in zip(confidence, correct, strict=True):
            images = [c + 2 * k for k in range(-3, 4)] + [2 * k - c for k in range(-3, 4)]
            kernel = sum(np.exp(-(((points - image) / width) ** 2) / 2) for image in images) / (width * math.sqrt(2 * math.pi))
            smoothed += (y - c) * kernel
        return np.abs(smoothed).mean() / len(confidence)

    low, high = 0.0, 1.0
    for _ in range(16):
        width = (low + high) / 2
        low, high = (width, high) if error(width) > width else (low, width)
    return (low + high) / 2


@pytest.mark.parametrize("seed, stated", [(0, lambda p: p), (1, lambda p: p**2), (2, lambda p: np.where(p > 0.5, 0.9, 0.2))])
def test_smooth_error_matches_its_definition(seed, stated):
    chance = np.random.default_rng(seed)
    true = chance.random(60)
    confidence, correct = np.sort(stated(true)), (chance.random(60) < np.sort(true)).astype(float)
    (result,) = smooth_ece(confidence, correct, ItemWeights.equal(60))
    assert result == pytest.approx(smooth_by_definition(confidence, correct), abs=1e-3)
