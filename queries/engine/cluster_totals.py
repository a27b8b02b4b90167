"""Totals of runs by cluster of questions, which suffice for metrics of sums, their replicates and their jackknife."""

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

NUMBERS_AT_ONCE = 20_000_000  # numbers in memory at a time, for totals without each question
IN_CACHE = 1_000_000  # numbers that approximately fit in the processor's cache, for replicates of some runs at a time

Columns = Mapping[str, Floats]


@dataclass(frozen=True)
class ClusterTotals:
    """Totals of the contributions of metrics, by cluster and run.

    ``columns`` gives, for a metric and a slice of runs, the totals that it is computed from, shape (clusters, some runs, ...);
    ``usable`` the number of questions that it can use, shape (clusters, runs). ``smooth`` is that of ``Evidence``.
    """

    runs: int
    clusters: int
    conventions: Conventions
    columns: Callable[[Metric, slice], Columns]
    usable: Callable[[Metric], Floats]
    smooth: bool = False
    _whole: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)
    _drawn: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    def totals(self, metric: Metric, runs: slice = slice(None)) -> dict[str, Floats]:
        """Return the totals over all clusters of some of the runs, each of shape (some runs, ...)."""
        if not shares_sums(metric):
            return {name: _added_up(column) for name, column in self.columns(metric, runs).items()}
        columns = self.columns(metric, slice(None))
        for name in columns.keys() - self._whole.keys():
            self._whole[name] = _added_up(columns[name])
        return {name: self._whole[name][runs] for name in columns}

    def values(self, metric: Metric) -> Floats:
        """Compute the metric of each run, shape (runs,), or (runs, ...) if it has several values; NaN where undefined."""
        return np.concatenate([metric.value(self.totals(metric, runs), self.conventions) for runs in self._batches(metric)])

    def questions_with(self, metric: Metric) -> Ints:
        """Count the questions of each run that the metric can use, shape (runs,)."""
        return _added_up(self.usable(metric)).astype(int)

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """Compute the metric in each replicate, shape (REPLICATES, runs, ...); see ``Evidence.replicates``."""
        batches = [metric.value(self._stepped(metric, runs, step), self.conventions) for runs in self._batches(metric)]
        return np.concatenate(batches, axis=1)

    def _stepped(self, metric: Metric, runs: slice, step: float) -> dict[str, Floats]:
        drawn = self.drawn(metric, runs)
        return drawn if step == 1 else stepped_totals(drawn, self.totals(metric, runs), step)

    def drawn(self, metric: Metric, runs: slice = slice(None), without: Collection[str] = ()) -> dict[str, Floats]:
        """Compute the totals of some runs in each replicate, each of shape (REPLICATES, some runs, ...), without some columns."""
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
        """Compute jackknife pseudo-values of the clusters of questions (the delete-a-group jackknife of Kott 2001).

        They have shape (clusters, runs); NaN for a cluster in which a run has no question that the metric can use.
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
        """Sum the residuals c - y by cluster, run and bin, shape (clusters, runs, bins), for a binned distance from calibration.

        Returns also the number of items of each run in each bin, shape (runs, bins); 1 everywhere if the metric does not read it.
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
        return resample_clusters(column.reshape(math.prod(column.shape[:2]), *column.shape[2:]), self.clusters, self.smooth)

    def _batches(self, metric: Metric) -> Iterator[slice]:
        """Yield the runs whose totals are in memory at a time: all of them if the totals are shared with other metrics."""
        if shares_sums(metric) or not self.runs:
            yield slice(0, self.runs)
            return
        width = sum(math.prod(column.shape[2:]) for column in self.columns(metric, slice(0, 1)).values())
        size = max(1, IN_CACHE // max(1, width * REPLICATES))
        for first in range(0, self.runs, size):
            yield slice(first, min(first + size, self.runs))


def shares_sums(metric: Metric) -> bool:
    """Check whether the contributions of a metric are the statistics themselves, which other metrics also use."""
    return metric.contributions is unchanged_sums and not metric.cross_fitted


def stepped_totals(drawn: Columns, whole: Columns, step: float) -> dict[str, Floats]:
    """Multiply the distance of drawn totals, shape (REPLICATES, ...), from those of the data, shape (...,), by ``step``.

    This is for the numerical derivative bootstrap. Numbers of items per bin stay those of the data.
    """
    totals = {name: whole[name] + step * (column - whole[name]) for name, column in drawn.items()}
    return totals | {name: whole[name][None] for name in totals if name == BIN_COLUMNS[0]}  # a number of items cannot be negative


def values_without(
    metric: Metric, conventions: Conventions, totals: Columns, columns: Mapping[str, Floats | SparseColumn], run: Ints
) -> Floats:
    """Compute a metric of totals for each row's run with the row left out, shape (rows,), NaN where undefined."""
    without = np.empty(len(run))
    width = sum(math.prod(total.shape[1:]) for total in totals.values())
    for first in range(0, len(run), at_once := max(1, NUMBERS_AT_ONCE // max(1, width))):
        check_time_limit()
        rows = slice(first, first + at_once)
        left = {name: totals[name][run[rows]] - dense(column[rows]) for name, column in columns.items()}
        without[rows] = metric.value(left, conventions)
    return without


def _added_up(column: Floats) -> Floats:
    """Sum a column of shape (clusters, runs, ...) over the clusters, run by run, so that digits do not depend on other runs."""
    sums = np.empty(column.shape[1:])
    for run in range(len(sums)):
        sums[run] = np.ascontiguousarray(column[:, run]).sum(axis=0)
    return sums
