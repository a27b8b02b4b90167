"""Totals of runs by cluster of questions: all that metrics of sums, their replicates and their jackknife need."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from data.sufficient_statistics import BIN_COLUMNS
from queries.engine.bootstrap import REPLICATES, resample_clusters
from queries.engine.run_columns import Floats, SparseColumn, dense
from queries.metrics import Conventions, Metric
from queries.metrics.kernels.arrays import Ints
from queries.metrics.kernels.bins import fold_bins
from queries.metrics.metric import unchanged_sums
from queries.query_time_limit import check_time_limit

NUMBERS_AT_ONCE = 20_000_000  # held in memory at a time, of totals without each question
IN_CACHE = 1_000_000  # about what the cache of a processor holds: replicates of some runs at a time

Columns = Mapping[str, Floats]


@dataclass(frozen=True)
class ClusterTotals:
    """Totals of the contributions of metrics, by cluster and run.

    Attributes:
        runs: how many there are.
        clusters: how many, of questions.
        conventions: of the metrics.
        columns: the totals that a metric is computed from, of some of the runs, each of shape (clusters, some, ...).
        usable: number of questions that a metric could use, shape (clusters, runs).
    """

    runs: int
    clusters: int
    conventions: Conventions
    columns: Callable[[Metric, slice], Columns]
    usable: Callable[[Metric], Floats]
    _whole: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)
    _drawn: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    def totals(self, metric: Metric, runs: slice = slice(None)) -> dict[str, Floats]:
        """Totals over all clusters, each of shape (some, ...), of some of the runs."""
        if not shares_sums(metric):
            return {name: _added_up(column) for name, column in self.columns(metric, runs).items()}
        columns = self.columns(metric, slice(None))
        for name in columns.keys() - self._whole.keys():
            self._whole[name] = _added_up(columns[name])
        return {name: self._whole[name][runs] for name in columns}

    def values(self, metric: Metric) -> Floats:
        """The metric of each run, shape (runs,) or, where it is several numbers, (runs, ...); NaN where undefined."""
        return np.concatenate([metric.value(self.totals(metric, runs), self.conventions) for runs in self._batches(metric)])

    def questions_with(self, metric: Metric) -> Ints:
        """Questions of each run that the metric could use, shape (runs,)."""
        return _added_up(self.usable(metric)).astype(int)

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """The metric in each replicate, shape (REPLICATES, runs) or (REPLICATES, runs, ...); see ``Evidence.replicates``."""
        batches = [metric.value(self._stepped(metric, runs, step), self.conventions) for runs in self._batches(metric)]
        return np.concatenate(batches, axis=1)

    def _stepped(self, metric: Metric, runs: slice, step: float) -> dict[str, Floats]:
        """Totals in each replicate, so many times as far from the data as drawn."""
        drawn = self.drawn(metric, runs)
        return drawn if step == 1 else stepped_totals(drawn, self.totals(metric, runs), step)

    def drawn(self, metric: Metric, runs: slice = slice(None), without: Collection[str] = ()) -> dict[str, Floats]:
        """Totals in each replicate, each of shape (REPLICATES, some, ...), of some of the runs.

        Args:
            metric: whose columns are drawn.
            runs: which ones.
            without: names of columns that are left out.
        """
        shared = shares_sums(metric)
        drawn = {}
        for name, column in self.columns(metric, slice(None) if shared else runs).items():
            if name in without:
                continue
            if shared:
                if name not in self._drawn:
                    self._drawn[name] = self._product(column)
                drawn[name] = self._drawn[name][:, runs]
            else:
                drawn[name] = self._product(column)
        return drawn

    def pseudo_values(self, metric: Metric) -> Floats:
        """Jackknife pseudo-values of the clusters of questions, shape (clusters, runs).

        They cost the same whatever the number of questions. NaN for a cluster in which a run has nothing for the metric.

        Source:
            Kott 2001 (the delete-a-group jackknife).
        """
        known = self.usable(metric) > 0
        groups = known.sum(axis=0)
        without = np.empty((self.clusters, self.runs))
        for runs in self._batches(metric):
            check_time_limit()
            whole = self.totals(metric, runs)
            left = {name: whole[name] - column for name, column in self.columns(metric, runs).items()}
            without[:, runs] = metric.value(left, self.conventions)
        return np.where(known, groups * self.values(metric) - (groups - 1) * without, np.nan)

    def residuals(self, metric: Metric) -> tuple[Floats, Floats]:
        """Sums of c - y by cluster, run and bin, and the items of each run in each bin.

        Args:
            metric: a distance from calibration that is made of bins.

        Returns:
            Shape (clusters, runs, bins) and (runs, bins).
        """
        assert metric.gaps is not None
        columns = self.columns(metric, slice(None))
        gaps = metric.gaps(columns, self.conventions)
        items = columns.get(BIN_COLUMNS[0])
        if items is None:
            return gaps, np.ones(gaps.shape[1:])
        return gaps, fold_bins(self.totals(metric)[BIN_COLUMNS[0]], self.conventions.binning)

    def _product(self, column: Floats) -> Floats:
        check_time_limit()
        return resample_clusters(column.reshape(math.prod(column.shape[:2]), *column.shape[2:]), self.clusters)

    def _batches(self, metric: Metric) -> Iterator[slice]:
        """Runs whose totals are held in memory at a time; all of them where these are shared with other metrics."""
        if shares_sums(metric) or not self.runs:
            yield slice(0, self.runs)
            return
        width = sum(math.prod(column.shape[2:]) for column in self.columns(metric, slice(0, 1)).values())
        size = max(1, IN_CACHE // max(1, width * REPLICATES))
        for first in range(0, self.runs, size):
            yield slice(first, min(first + size, self.runs))


def shares_sums(metric: Metric) -> bool:
    """Whether the contributions of a metric are the statistics themselves, which other metrics use, too."""
    return metric.contributions is unchanged_sums and not metric.cross_fitted


def stepped_totals(drawn: Columns, whole: Columns, step: float) -> dict[str, Floats]:
    """Totals so many times as far from the data as drawn.

    Args:
        drawn: in each replicate, each of shape (REPLICATES, ...).
        whole: of the data, each of shape (...,).
        step: how many times as far.
    """
    totals = {name: whole[name] + step * (column - whole[name]) for name, column in drawn.items()}
    return totals | {name: whole[name][None] for name in totals if name == BIN_COLUMNS[0]}  # no bin has less than no item


def values_without(
    metric: Metric, conventions: Conventions, totals: Columns, columns: Mapping[str, Floats | SparseColumn], run: Ints
) -> Floats:
    """A metric of each row's run without what the row adds to the totals, shape (rows,).

    Args:
        metric: a function of totals.
        conventions: of the metric.
        totals: of each run, each of shape (runs, ...).
        columns: what each row adds, each of shape (rows, ...).
        run: of each row, shape (rows,).
    """
    without = np.empty(len(run))
    width = sum(math.prod(total.shape[1:]) for total in totals.values())
    for first in range(0, len(run), at_once := max(1, NUMBERS_AT_ONCE // max(1, width))):
        check_time_limit()
        rows = slice(first, first + at_once)
        left = {name: totals[name][run[rows]] - dense(column[rows]) for name, column in columns.items()}
        without[rows] = metric.value(left, conventions)
    return without


def _added_up(column: Floats) -> Floats:
    """Sums of a column of shape (clusters, runs, ...) over the clusters, run by run: digits do not depend on the other runs."""
    sums = np.empty(column.shape[1:])
    for run in range(len(sums)):
        sums[run] = np.ascontiguousarray(column[:, run]).sum(axis=0)
    return sums
