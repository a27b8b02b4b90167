"""The bootstrap: one shared matrix of weights, so that all runs and metrics see the same replicates.

Questions are drawn with replacement (a cluster bootstrap: the clues of a question stay together). A replicate is a row of
weights, how often each question was drawn; a metric of sums is the same function of the weighted sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from queries.engine.run_columns import SparseColumn, sum_by_place
from queries.metrics.kernels.bins import mass_bins_of_weights
from queries.metrics.kernels.replicate_weights import ItemWeights
from queries.metrics.metric import Floats, ItemKernel, Metric
from queries.query_time_limit import check_time_limit

REPLICATES = 1000
LEVEL = 0.95
SIGNIFICANCE = 0.05  # p-values below it say that two runs, or a run and a part of it, differ
SEED = 2605
# Beyond so many questions, each is put into one of so many groups by lot, and groups are drawn: the spread of a mean over
# groups of exchangeable questions is that over the questions, and the interval then costs the same whatever the selection.
MAX_CLUSTERS = 1_000
TIED = 1e-12  # values this near are the same: numbers added up in another order differ in the last digit
DIGITS = 12  # kept of an interval's ends: below that, the order of a sum shows, which differs from machine to machine


@lru_cache(maxsize=16)
def resampling_weights(clusters: int, stream: int = 0) -> NDArray[np.uint8]:
    """How often each cluster is drawn in each replicate, shape (REPLICATES, clusters); each row sums to ``clusters``.

    Args:
        clusters: how many there are.
        stream: draws under different numbers are independent.
    """
    random = np.random.default_rng((SEED, clusters, stream) if stream else (SEED, clusters))
    drawn = np.empty((REPLICATES, clusters), dtype=np.uint8)  # a count above 255 has no chance where it would be possible
    for row in drawn:
        row[:] = np.bincount(random.integers(0, clusters, clusters), minlength=clusters)
    return drawn


@lru_cache(maxsize=4)
def _cluster_weights(clusters: int, step: float = 1.0) -> Floats:
    """The same as floats, by cluster, shape (clusters, REPLICATES): 8 MB at most.

    Args:
        clusters: how many there are.
        step: how many times as far from the data as the replicate, for the numerical derivative bootstrap.
    """
    return _stepped(np.ascontiguousarray(resampling_weights(clusters).T), step)


def _stepped(drawn: NDArray[Any], step: float) -> Floats:
    """Weights so many times as far from 1, the weight of the data, as those drawn."""
    weights: Floats = drawn.astype(float)
    return weights if step == 1 else 1 + step * (weights - 1)


@lru_cache(maxsize=16)
def question_clusters(questions: int) -> NDArray[np.int64]:
    """Cluster of each question of a selection in its order, shape (questions,): its own while they are few."""
    if questions <= MAX_CLUSTERS:
        return np.arange(questions)
    return np.random.default_rng((SEED, questions)).permutation(questions) % MAX_CLUSTERS


def cluster_count(questions: int) -> int:
    """Number of clusters that the replicates of a selection of so many questions draw from."""
    return min(questions, MAX_CLUSTERS)


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
    return resample_clusters(sum_by_place(values, cluster * runs + run, drawn_from * runs), drawn_from)


def resample_clusters(by_cluster: Floats, clusters: int) -> Floats:
    """Totals per replicate and run, from those of each cluster and run.

    Args:
        by_cluster: shape (clusters * runs, ...), the runs of a cluster one after the other.
        clusters: how many there are.

    Returns:
        shape (REPLICATES, runs, ...).
    """
    product: Floats = _cluster_weights(clusters).T @ by_cluster.reshape(clusters, by_cluster.size // clusters)
    return product.reshape(REPLICATES, len(by_cluster) // clusters, *by_cluster.shape[1:])


DrawnKind = Literal["questions", "people", "both", "answers"]


@dataclass(frozen=True)
class Draws:
    """Draws of questions, of respondents, of both or of single rows, some replicates at a time.

    It yields two arrays of shape (some replicates, rows): how often the question of each row is drawn, and how often the row is
    drawn within its question. The weight of a row is the product.

    Attributes:
        kind: what is drawn: ``questions``, ``people``, ``both`` (independently) or ``answers``, which are the rows.
        cluster: of each row's question, shape (rows,).
        drawn_from: number of clusters of questions.
        respondent: of each row, from 0, shape (rows,); not used where questions are drawn.
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
        """How often items are drawn, some replicates at a time.

        Args:
            row: of each item, shape (items,).
            step: how many times as far from the data as the replicate, for the numerical derivative bootstrap.
        """
        check_time_limit()
        if self.kind == "questions":
            yield ItemWeights(self.cluster[row], _cluster_weights(self.drawn_from, step))
            return
        for questions, within in self:
            yield ItemWeights(row, _stepped((questions * within).T, step))


# -- items of one run --------------------------------------------------------------------------------------------------

AT_ONCE = 4_000_000  # weights of rows, or of items, held in memory at a time


def item_replicates(
    metric: Metric, confidence: Floats, correct: Floats, row: NDArray[np.int64], draws: Draws, step: float = 1.0
) -> Floats:
    """What the kernel of a metric of pairs gives in each replicate, shape (REPLICATES,) or (metrics, REPLICATES).

    Args:
        metric: of pairs.
        confidence, correct: of each item in the order of questions and clues, shape (items,).
        row: of each item among those that are drawn, shape (items,).
        draws: of the rows.
        step: how many times as far from the data as the replicate, for the numerical derivative bootstrap.
    """
    kernel = _kernel(metric)
    order = np.argsort(confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    return np.concatenate([kernel(confidence, correct, weights) for weights in draws.item_weights(row[order], step)], axis=-1)


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
    at_once = max(1, AT_ONCE // max(groups, 1))
    values = [np.empty(0)]
    for first in range(0, groups, at_once):
        check_time_limit()
        left_out = np.arange(first, min(first + at_once, groups))
        weights = ItemWeights(group, (np.arange(groups)[:, None] != left_out).astype(float))
        values.append(metric.own_part(kernel(confidence, correct, weights)))
    return np.concatenate(values)


def mass_bins_replicates(confidence: Floats, correct: Floats, row: NDArray[np.int64], draws: Draws, count: int) -> Floats:
    """Totals per equal-mass bin of one run in each replicate.

    The bins of ``kernels.bins.mass_bins`` are cut again in each replicate, as if an item were there as often as it was drawn:
    copies of one item may fall into two bins.

    Args:
        confidence, correct: of each item in the order of questions and clues, shape (items,).
        row: of each item among those that are drawn, shape (items,).
        draws: of the rows.
        count: number of bins.

    Returns:
        Items, sum of confidence and sum of correctness, shape (3, count, REPLICATES).
    """
    order = np.argsort(confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    parts = [mass_bins_of_weights(confidence, correct, weights, count) for weights in draws.item_weights(row[order])]
    return np.concatenate(parts, axis=-1)


def _kernel(metric: Metric) -> ItemKernel:
    assert metric.pairs is not None
    return metric.pairs
