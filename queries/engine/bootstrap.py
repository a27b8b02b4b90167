"""The bootstrap: one shared matrix of weights, so that all runs and metrics see the same replicates.

Questions are drawn with replacement (a cluster bootstrap: the clues of a question stay together). A replicate is a row of
weights, how often each question was drawn; a metric of sums is the same function of the weighted sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from queries.engine.run_columns import SparseColumn, sum_by_place
from queries.metrics.metric import Floats, ItemKernel, Metric
from queries.time_limit import check_time_limit

REPLICATES = 1000
LEVEL = 0.95
SIGNIFICANCE = 0.05  # p-values below it say that two runs, or a run and a part of it, differ
SEED = 2605
# Beyond so many questions, each is put into one of so many groups by lot, and groups are drawn: the spread of a mean over
# groups of exchangeable questions is that over the questions, and the interval then costs the same whatever the selection.
MOST_CLUSTERS = 1_000
TIED = 1e-12  # values this near are the same: numbers added up in another order differ in the last digit
DIGITS = 12  # kept of an interval's ends: below that, the order of a sum shows, which differs from machine to machine


@lru_cache(maxsize=16)
def resampling_weights(clusters: int) -> NDArray[np.uint8]:
    """How often each cluster is drawn in each replicate, shape (REPLICATES, clusters); each row sums to ``clusters``."""
    random = np.random.default_rng((SEED, clusters))
    drawn = np.empty((REPLICATES, clusters), dtype=np.uint8)  # a count above 255 has no chance where it would be possible
    for row in drawn:
        row[:] = np.bincount(random.integers(0, clusters, clusters), minlength=clusters)
    return drawn


@lru_cache(maxsize=2)
def _floats(clusters: int) -> Floats:
    """The same as floats, 40 MB at most, for products: those of many pairs of runs would convert them each time."""
    return resampling_weights(clusters).astype(float)


@lru_cache(maxsize=16)
def question_clusters(questions: int) -> NDArray[np.int64]:
    """Cluster of each question of a selection in its order, shape (questions,): its own while they are few."""
    if questions <= MOST_CLUSTERS:
        return np.arange(questions)
    return np.random.default_rng((SEED, questions)).permutation(questions) % MOST_CLUSTERS


def cluster_count(questions: int) -> int:
    """Number of clusters that the replicates of a selection of so many questions draw from."""
    return min(questions, MOST_CLUSTERS)


def percentile_interval(replicates: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Percentile interval of each column, and the replicates it comes from: those in which the value is defined.

    Percentiles are interpolated linearly; an end is NaN where no replicate is defined.

    Args:
        replicates: shape (REPLICATES, k), NaN where undefined.

    Returns:
        low, high and count, each of shape (k,).
    """
    defined = np.isfinite(replicates)
    counts = defined.sum(axis=0)
    ends = np.full((2, replicates.shape[1]), np.nan)
    quantiles = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    whole = counts == len(replicates)
    ends[:, whole] = np.quantile(replicates[:, whole], quantiles, axis=0)
    for column in np.flatnonzero(~whole & (counts > 0)):
        ends[:, column] = np.quantile(replicates[defined[:, column], column], quantiles)
    low, high = np.round(ends, DIGITS) + 0.0  # no -0
    return low, high, counts


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjustment of the p-values of one family, shape (k,) in and out; NaN stays and counts for nothing.

    Source: Holm 1979.
    """
    adjusted = np.full_like(p_values, np.nan)
    defined = np.flatnonzero(np.isfinite(p_values))
    order = defined[np.argsort(p_values[defined], kind="stable")]
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def resample(
    cluster: NDArray[np.int64], run: NDArray[np.int64], runs: int, drawn_from: int, values: Floats | SparseColumn
) -> Floats:
    """Totals of a column per replicate and run: one product of the weights with the column laid out by cluster and run.

    Args:
        cluster, run: of each row, shape (rows,); instead of runs, any other groups of rows.
        runs: how many there are.
        drawn_from: number of clusters.
        values: what is added up, shape (rows, ...).

    Returns:
        shape (REPLICATES, runs, ...).
    """
    laid_out = sum_by_place(values, cluster * runs + run, drawn_from * runs)
    product: Floats = _floats(drawn_from) @ laid_out.reshape(drawn_from, runs * math.prod(laid_out.shape[1:]))
    return product.reshape(REPLICATES, runs, *laid_out.shape[1:])


# -- items of one run --------------------------------------------------------------------------------------------------

AT_ONCE = 4_000_000  # weights of items held in memory at a time


def item_replicates(
    metric: Metric, confidence: Floats, correct: Floats, cluster: NDArray[np.int64], drawn_from: int, step: float = 1.0
) -> Floats:
    """A metric of pairs in each replicate, shape (REPLICATES,).

    Args:
        metric: of pairs.
        confidence, correct: of each item in the order of questions and clues, shape (items,); those alike are taken as one.
        cluster: of each item, shape (items,).
        drawn_from: number of clusters.
        step: how many times as far from the data as the replicate, for the numerical derivative bootstrap.
    """
    kernel = _kernel(metric)
    order = np.argsort(confidence, kind="stable") if metric.ordered else np.lexsort((correct, confidence))
    confidence, correct, cluster = confidence[order], correct[order], cluster[order]
    is_new_kind = np.append(True, (np.diff(confidence) != 0) | (np.diff(correct) != 0))[: len(order)]
    kinds = np.flatnonzero(is_new_kind)
    if metric.ordered or len(kinds) * drawn_from > AT_ONCE:
        weights = (1 + step * (part.astype(float) - 1) for part in _spread(cluster, drawn_from))
        return np.concatenate([kernel(confidence, correct, part) for part in weights])
    counts = np.bincount(cluster * len(kinds) + np.cumsum(is_new_kind) - 1, minlength=drawn_from * len(kinds))
    counts = counts.reshape(drawn_from, len(kinds)).astype(float)
    total = counts.sum(axis=0)
    return kernel(confidence[kinds], correct[kinds], total + step * (_floats(drawn_from) @ counts - total))


def items_without_each(metric: Metric, confidence: Floats, correct: Floats, group: NDArray[np.int64], groups: int) -> Floats:
    """A metric of pairs without each group of items, shape (groups,).

    Args:
        metric: of pairs.
        confidence, correct: of each item in the order of questions and clues, shape (items,).
        group: of each item, such as its question, from 0, shape (items,).
        groups: how many there are.
    """
    kernel = _kernel(metric)
    order = np.argsort(confidence, kind="stable")
    confidence, correct, group = confidence[order], correct[order], group[order]
    rows = max(1, AT_ONCE // max(len(group), 1))
    values = [np.empty(0)]
    for first in range(0, groups, rows):
        check_time_limit()
        part = np.arange(first, min(first + rows, groups))
        values.append(kernel(confidence, correct, (group != part[:, None]).astype(float)))
    return np.concatenate(values)


def mass_bins_replicates(confidence: Floats, correct: Floats, cluster: NDArray[np.int64], drawn_from: int, count: int) -> Floats:
    """Totals per equal-mass bin of one run in each replicate.

    The bins of ``kernels.bins.mass_bins`` are cut again in each replicate, as if an item were there as often as it was drawn:
    copies of one item may fall into two bins.

    Args:
        confidence, correct: of each item in the order of questions and clues, shape (items,).
        cluster: of each item, shape (items,).
        drawn_from: number of clusters.
        count: number of bins.

    Returns:
        Items, sum of confidence and sum of correctness, shape (REPLICATES, 3, count).
    """
    order = np.argsort(confidence, kind="stable")
    confidence, correct, cluster = confidence[order], correct[order], cluster[order]
    return np.stack([_cut(row, confidence, correct, count) for part in _spread(cluster, drawn_from) for row in part])


def _cut(copies: NDArray[np.uint8], confidence: Floats, correct: Floats, count: int) -> Floats:
    """Totals per equal-mass bin, shape (3, count), of sorted items of which there are so many copies each."""
    up_to = np.append(0, np.cumsum(copies, dtype=np.int64))
    small, larger = divmod(int(up_to[-1]), count)
    cuts = np.arange(count + 1) * small + np.minimum(np.arange(count + 1), larger)
    item = np.clip(np.searchsorted(up_to, cuts, side="left") - 1, 0, None)  # that holds the last copy before the cut
    totals = np.zeros((3, count))
    totals[0] = np.diff(cuts)
    for line, values in ((1, confidence), (2, correct)):
        before = np.append(0.0, np.cumsum(copies * values))
        totals[line] = np.diff(before[item] + (cuts - up_to[item]) * values[item])
    return totals


def _spread(cluster: NDArray[np.int64], drawn_from: int) -> Iterator[NDArray[np.uint8]]:
    """How often each item is drawn, shape (some replicates, items), so many replicates at a time as memory should hold."""
    drawn, rows = resampling_weights(drawn_from), max(1, AT_ONCE // max(len(cluster), 1))
    for start in range(0, len(drawn), rows):
        check_time_limit()
        yield drawn[start : start + rows, cluster]


def _kernel(metric: Metric) -> ItemKernel:
    assert metric.pairs is not None
    return metric.pairs
