"""The bootstrap of questions: one shared matrix of weights, so that all runs and metrics use the same replicates.

A replicate is a row of weights: how often each question was drawn, with its clues. A metric of sums is computed by the same
function from the weighted sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clueline.queries.engine.rows import SortedItems
from clueline.queries.engine.run_columns import SparseColumn, sum_by_place
from clueline.queries.metrics.kernels.arrays import first_of_ties
from clueline.queries.metrics.kernels.bins import mass_bins_of_weights
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.selective import log_scores
from clueline.queries.metrics.kernels.sorted_items import correlation
from clueline.queries.metrics.metric import Floats, ItemKernel, Metric
from clueline.queries.query_time_limit import check_time_limit

REPLICATES = 1000
LEVEL = 0.95
ENDS = (1 - LEVEL) / 2, (1 + LEVEL) / 2  # quantiles at the ends of an interval
SIGNIFICANCE = 0.05  # level below which a p-value shows that two runs, or a run and a part of it, differ
SEED = 2605
# With more questions than this, each is assigned at random to one of this many groups, and groups are drawn. The variance of a
# mean over groups of exchangeable questions is that over the questions, and the interval costs the same for any selection.
MAX_CLUSTERS = 1_000
PARTS = 16  # into which the Bayesian bootstrap divides a question
SMOOTH_REPLICATES = 400  # of the Bayesian bootstrap, which is repeated for each kind of extra question
TIED = 1e-12  # values this close are equal: sums in a different order differ in the last digit
DIGITS = 12  # decimals of an interval's ends; further ones depend on the order of summation, which differs between machines


@lru_cache(maxsize=16)
def resampling_weights(clusters: int, stream: int = 0) -> NDArray[np.uint8]:
    """Draw how often each cluster occurs in each replicate, shape (REPLICATES, clusters), independently for each stream."""
    random = np.random.default_rng((SEED, clusters, stream) if stream else (SEED, clusters))
    drawn = np.empty((REPLICATES, clusters), dtype=np.uint8)  # where a count above 255 is possible, its probability is negligible
    for row in drawn:
        row[:] = np.bincount(random.integers(0, clusters, clusters), minlength=clusters)
    return drawn


@lru_cache(maxsize=4)
def exponential_weights(clusters: int) -> Floats:
    """Draw weights with mean 1 of clusters and of one more question, (REPLICATES, clusters + 1): the Bayesian bootstrap."""
    return np.random.default_rng((SEED, clusters, 4)).exponential(1.0, (REPLICATES, clusters + 1))


@lru_cache(maxsize=4)
def _cluster_weights(clusters: int, step: float = 1.0, smooth: bool = False) -> Floats:
    """Return the transposed ``resampling_weights`` as floats, shape (clusters, REPLICATES), at most 8 MB.

    ``smooth`` weights are those of the Bayesian bootstrap, exponential with mean ``PARTS``, and rounded, because some kernels
    count items. Those of a cluster are evenly spread quantiles in random order (a Latin hypercube), so that fewer replicates
    suffice.
    """
    if smooth:
        quantiles = -PARTS * np.log1p(-(np.arange(SMOOTH_REPLICATES) + 0.5) / SMOOTH_REPLICATES)
        random = np.random.default_rng((SEED, clusters, 3))
        return random.permuted(np.tile(np.rint(quantiles), (clusters, 1)), axis=1)
    return _stepped(np.ascontiguousarray(resampling_weights(clusters).T), step)


def _stepped(drawn: NDArray[Any], step: float) -> Floats:
    """Multiply the distance of drawn weights from 1, the weight of the data, by ``step`` (numerical derivative bootstrap)."""
    weights: Floats = drawn.astype(float)
    return weights if step == 1 else 1 + step * (weights - 1)


@lru_cache(maxsize=16)
def question_clusters(questions: int) -> NDArray[np.int64]:
    """Return the cluster of each question of a selection, shape (questions,): one per question up to ``MAX_CLUSTERS``."""
    if questions <= MAX_CLUSTERS:
        return np.arange(questions)
    return np.random.default_rng((SEED, questions)).permutation(questions) % MAX_CLUSTERS


def percentile_interval(replicates: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Compute the 95 % percentile interval of each column, shape (REPLICATES, k), over the replicates in which it is defined.

    Returns both ends, NaN if no replicate is defined, and the number of defined replicates, each of shape (k,).
    """
    low, high = np.round(quantiles(replicates, *ENDS), DIGITS) + 0.0  # no -0
    return low, high, np.isfinite(replicates).sum(axis=0)


def quantiles(columns: Floats, *levels: float) -> Floats:
    """Return quantiles of each column over the rows in which it is defined, NaN where there are none; (levels, columns)."""
    ends = np.full((len(levels), columns.shape[1]), np.nan)
    defined = np.isfinite(columns)
    whole = defined.all(axis=0)
    ends[:, whole] = np.quantile(columns[:, whole], levels, axis=0)
    for column in np.flatnonzero(~whole & defined.any(axis=0)):
        ends[:, column] = np.quantile(columns[defined[:, column], column], levels)
    return ends


def resample(
    cluster: NDArray[np.int64], run: NDArray[np.int64], runs: int, drawn_from: int, values: Floats | SparseColumn
) -> Floats:
    """Compute totals of a column, shape (rows, ...), per replicate and run, or other groups, shape (REPLICATES, runs, ...)."""
    return resample_clusters(sum_by_place(values, cluster * runs + run, drawn_from * runs), drawn_from)


def resample_clusters(by_cluster: Floats, clusters: int, smooth: bool = False) -> Floats:
    """Compute totals per replicate and run, shape (REPLICATES, runs, ...), or (SMOOTH_REPLICATES, runs, ...) if ``smooth``.

    Totals per cluster have shape (clusters * runs, ...), the runs of a cluster one after another.
    """
    product: Floats = _cluster_weights(clusters, smooth=smooth).T @ by_cluster.reshape(clusters, by_cluster.size // clusters)
    return product.reshape(len(product), len(by_cluster) // clusters, *by_cluster.shape[1:])


DrawnKind = Literal["questions", "weights", "people", "both", "answers"]


@dataclass(frozen=True)
class Draws:
    """Draws of questions, of respondents, of both independently or of single rows (``answers``), some replicates at a time.

    Iteration yields pairs of arrays of shape (some replicates, rows): how often the question of each row is drawn, and how often
    the row is drawn within its question. The weight of a row is their product. ``weights`` are those of questions in the Bayesian
    bootstrap. ``respondent``, of ``people`` and ``both``, counts from 0.
    """

    kind: DrawnKind
    cluster: NDArray[np.int64]
    drawn_from: int
    respondent: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __iter__(self) -> Iterator[tuple[Floats, Floats]]:
        rows = len(self.cluster)
        questions = resampling_weights(self.drawn_from) if self.kind in ("questions", "both") else None
        if self.kind == "answers":
            within, index = resampling_weights(rows, 2), np.arange(rows)
        else:
            within, index = resampling_weights(int(self.respondent.max(initial=0)) + 1, 1), self.respondent
        at_once = max(1, AT_ONCE // max(rows, 1))
        for first in range(0, REPLICATES, at_once):
            check_time_limit()
            part = slice(first, first + at_once)
            ones = np.ones((len(range(REPLICATES)[part]), rows))
            drawn = ones if questions is None else questions[part][:, self.cluster].astype(float)
            yield drawn, ones if self.kind == "questions" else within[part][:, index].astype(float)

    def item_weights(self, row: NDArray[np.int64], step: float = 1.0) -> Iterator[ItemWeights]:
        """Yield how often items are drawn, from the row of each, some replicates at a time; ``step`` scales distances from 1."""
        check_time_limit()
        if self.kind in ("questions", "weights"):
            yield ItemWeights(self.cluster[row], _cluster_weights(self.drawn_from, step, self.kind == "weights"))
            return
        for questions, within in self:
            yield ItemWeights(row, _stepped((questions * within).T, step))


# -- items of one run --------------------------------------------------------------------------------------------------

AT_ONCE = 4_000_000  # weights of rows or items in memory at a time
POOLED_ABOVE = 5_000  # items of a run; if there are more, replicates of metrics of pairs are computed from pooled items
OF_SUMS = (log_scores, correlation)  # kernels that cost little for any number of items
CELLS = 300  # of pooled confidences
EDGES = np.unique([*np.linspace(0, 1, 11), *(np.arange(11) / 10), *np.linspace(0, 1, 16)])  # of bins that metrics use


class PooledItems(NamedTuple):
    """Right and wrong items of similar confidence, each taken together, and how often items of each kind are drawn.

    ``confidence`` is the mean of a kind, ``correct`` 0 or 1 and ``sizes`` its number of items, shape (kinds,) each, sorted by
    confidence. ``drawn`` are whole numbers, shape (kinds, replicates).
    """

    confidence: Floats
    correct: Floats
    sizes: Floats
    drawn: NDArray[Any]

    def values(self, metric: Metric) -> Floats:
        """Compute the kernel of a metric of pairs from the data, shape () or (metrics,)."""
        return _kernel(metric)(self.confidence, self.correct, ItemWeights(np.arange(len(self.sizes)), self.sizes[:, None]))[
            ..., 0
        ]

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """Compute ``item_replicates`` of the pooled items."""
        weights = self.drawn.astype(float)
        if step != 1:
            weights = self.sizes[:, None] + step * (weights - self.sizes[:, None])
        return _kernel(metric)(self.confidence, self.correct, ItemWeights(np.arange(len(weights)), weights))


def can_be_pooled(metric: Metric, correct: Floats) -> bool:
    """Check whether replicates should be computed from ``pooled_items``: there are many, which the kernel would have to sort."""
    pooled = len(correct) > POOLED_ABOVE and metric.large is None and metric.pairs not in OF_SUMS
    return pooled and bool(((correct == 0) | (correct == 1)).all())


def pooled_items(items: SortedItems, draws: Draws) -> PooledItems:
    """Pool items of one run whose correctness is 0 or 1: equal confidences or, if there are more than ``CELLS``, similar ones.

    None are pooled across ``EDGES``.
    """
    confidence = items.confidence
    firsts = first_of_ties(confidence)
    if len(firsts) > CELLS:
        steps = np.linspace(0, len(confidence), CELLS, endpoint=False).astype(np.int64)
        at_edges = [np.searchsorted(confidence, EDGES, side) for side in ("left", "right")]
        firsts = np.unique([*firsts[np.searchsorted(firsts, steps, side="right") - 1], *np.concatenate(at_edges)])
        firsts = firsts[firsts < len(confidence)]
    sizes = np.diff(firsts, append=len(confidence))
    highest = confidence[firsts + sizes - 1]
    mean = np.clip(np.add.reduceat(confidence, firsts) / sizes, confidence[firsts], highest)
    kind = 2 * np.repeat(np.arange(len(firsts)), sizes) + items.correct.astype(np.int64)
    count = np.bincount(kind, minlength=2 * len(firsts))
    used = np.flatnonzero(count)
    parts = [weights.totals_of_cells(None, kind, len(count))[used] for weights in draws.item_weights(items.row)]
    drawn = np.concatenate(parts, axis=1)
    return PooledItems(
        mean[used // 2],
        (used % 2).astype(float),
        count[used].astype(float),
        drawn.astype(np.min_scalar_type(int(drawn.max(initial=0)))),
    )


def item_replicates(metric: Metric, items: SortedItems, draws: Draws, step: float = 1.0) -> Floats:
    """Compute the kernel of a metric of pairs in each replicate, shape (REPLICATES,) or, of several, (metrics, REPLICATES)."""
    kernel = metric.large if metric.large and len(items.row) > POOLED_ABOVE else _kernel(metric)
    parts = [kernel(items.confidence, items.correct, weights) for weights in draws.item_weights(items.row, step)]
    return np.concatenate(parts, axis=-1)


def items_without_each(metric: Metric, items: SortedItems, group: NDArray[np.int64], groups: int) -> Floats:
    """Compute a metric of pairs without each group of items, from 0, in turn, shape (groups,), NaN where undefined."""
    kernel = _kernel(metric)
    at_once = max(1, AT_ONCE // max(groups, 1))
    values = [np.empty(0)]
    for first in range(0, groups, at_once):
        check_time_limit()
        left_out = np.arange(first, min(first + at_once, groups))
        weights = ItemWeights(group, (np.arange(groups)[:, None] != left_out).astype(float))
        values.append(metric.select_part(kernel(items.confidence, items.correct, weights)))
    return np.concatenate(values)


def mass_bins_replicates(items: SortedItems, draws: Draws, count: int) -> Floats:
    """Compute ``kernels.bins.mass_bins_of_weights`` of one run in each replicate, shape (3, count, REPLICATES)."""
    weightings = draws.item_weights(items.row)
    parts = [mass_bins_of_weights(items.confidence, items.correct, weights, count) for weights in weightings]
    return np.concatenate(parts, axis=-1)


def _kernel(metric: Metric) -> ItemKernel:
    assert metric.pairs is not None
    return metric.pairs
