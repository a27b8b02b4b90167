"""Runs that answered different questions: values on what two of them both answered, and means adjusted for what each skipped.

Both are those of ``Evidence.values`` where all runs answered the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clueline.data.store.run_cache import kept_property
from clueline.data.sufficient_statistics import BIN_COLUMNS
from clueline.queries.engine.bootstrap import TIED, resample_clusters
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.run_columns import dense, sum_by_place
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio
from clueline.queries.metrics.kernels.bins import mass_bins
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.two_way_means import TwoWayMeans, two_way_means
from clueline.queries.query_time_limit import check_time_limit


@dataclass(frozen=True, eq=False)
class AdjustedMeans:
    """Means of runs over the questions that they were expected to answer, adjusted for the difficulty of those that each skipped.

    ``shared`` is the evidence that they are fitted to. Its runs are at the indices ``runs`` of the ``count`` runs that are
    compared; others have nothing to share. ``cells`` and their ``weights`` have shape (questions, runs of ``shared``).
    """

    shared: Evidence
    runs: Ints
    count: int
    cells: Floats
    weights: Floats

    @kept_property
    def _fitted(self) -> TwoWayMeans:
        assert self.shared.expected is not None
        return two_way_means(self.cells, self.weights, self.shared.expected.astype(float))

    @kept_property
    def values(self) -> Floats:
        """The adjusted mean of each run that is compared, shape (count,); NaN without the metric."""
        return self._of_all(self._fitted.values)

    @kept_property
    def replicates(self) -> Floats:
        """The same in each bootstrap replicate, by the draws of ``Evidence.replicates``, shape (replicates, count)."""
        units = self.shared.units
        drawn = sum_by_place(self._fitted.influence, units.drawn, units.drawn_from)
        moved = resample_clusters(drawn.reshape(-1), units.drawn_from).reshape(-1, len(self.runs))
        return self._of_all(self._fitted.values + moved)

    @kept_property
    def widths(self) -> Floats:
        """How much wider an interval is than that of the plain mean of the same cells, at least 1, shape (count,)."""
        total = self.weights.sum(axis=0)
        plain = self.weights * (self.cells - ratio((self.weights * self.cells).sum(axis=0), total))
        errors = [self._error(influence) for influence in (self._fitted.influence, np.nan_to_num(ratio(plain, total)))]
        return self._of_all(np.fmax(ratio(*errors), 1.0))

    def _error(self, influence: Floats) -> Floats:
        """Return the standard error of each run, but for a factor that all share, from the influence of questions."""
        units = self.shared.units
        error: Floats = np.sqrt((sum_by_place(influence, units.of_questions, units.count) ** 2).sum(axis=0))
        return error

    def _of_all(self, columns: Floats) -> Floats:
        result = np.full((*columns.shape[:-1], self.count), np.nan)
        result[..., self.runs] = columns
        return result


def adjusted_means(evidence: Evidence, metric: Metric) -> AdjustedMeans | None:
    """Compute adjusted means of a metric that is a mean; None for another metric, and where all runs answered the same.

    They are the ``two_way_means`` of single questions or, where runs answered different clues of a question, of single clues.
    Where nothing is missing they are plain means. They depend on the other runs, so they rank runs of one board and are no
    property of a run.
    """
    if not metric.mean or evidence.expected is None:
        return None
    return evidence.once(("adjusted means", metric.key), lambda: _adjusted_means(evidence, metric))


def _adjusted_means(evidence: Evidence, metric: Metric) -> AdjustedMeans:
    shared = evidence.paired(metric)
    cells, weights = np.zeros((2, shared.selected, len(shared.runs)))
    of_rows = shared.per_question(metric)
    known = np.isfinite(of_rows)
    at = shared.places[known], shared.run_of_rows[known]
    cells[at] = of_rows[known]
    weights[at] = shared.sums[metric.counts][known] if metric.level == "item" else 1.0
    return AdjustedMeans(shared, _places_of(shared, evidence), len(evidence.runs), cells, weights)


def _places_of(shared: Evidence, evidence: Evidence) -> Ints:
    """Return the index in some evidence of each run of what its runs share, which a run without any such answers has not."""
    index = {run.run: place for place, run in enumerate(evidence.runs)}
    return np.array([index[run.run] for run in shared.runs], dtype=np.int64)


def ranking_values(evidence: Evidence, metric: Metric) -> Floats:
    """Return the values that rank the runs by a metric, shape (runs,): adjusted means, or else each run's own value."""
    adjusted = adjusted_means(evidence, metric)
    return evidence.values(metric) if adjusted is None else adjusted.values


def contradicting_pairs(evidence: Evidence, metric: Metric) -> int:
    """Count the pairs of runs of which the one that ranks better by its adjusted mean is worse on what both answered."""
    adjusted = adjusted_means(evidence, metric)
    if adjusted is None or not metric.ranks:
        return 0
    loss, on_shared = metric.loss(adjusted.values), metric.loss(pair_values(evidence, metric))
    turned = (loss[:, None] - loss > TIED) & (on_shared - on_shared.T < -TIED)
    return int(turned.sum())


def pair_differences(evidence: Evidence, metric: Metric) -> Floats:
    """Return the value of each run minus that of each other, both on what the two answered, shape (runs, runs)."""
    values = pair_values(evidence, metric)
    return np.asarray(values - values.T)


def pair_values(evidence: Evidence, metric: Metric) -> Floats:
    """Return the value of each run, the first axis, on what it and each other run, the second axis, both answered."""
    count = len(evidence.runs)
    if evidence.expected is None:
        return np.broadcast_to(evidence.values(metric)[:, None], (count, count))
    return evidence.once(("pair values", metric.key), lambda: _pair_values(evidence, metric))


def _pair_values(evidence: Evidence, metric: Metric) -> Floats:
    shared = evidence.paired(metric)
    runs = _places_of(shared, evidence)
    answered = np.zeros((shared.selected, len(runs)))
    answered[shared.places, shared.run_of_rows] = 1.0
    contributions = {} if metric.pairs is not None else shared.contributions(metric)
    values = np.full((len(evidence.runs), len(evidence.runs)), np.nan)
    for run, place in enumerate(runs.tolist()):
        check_time_limit()
        rows = slice(int(shared.starts[run]), int(shared.ends[run]))
        both = answered[shared.places[rows]]
        if metric.pairs is not None:
            values[place, runs] = _of_pairs(shared, metric, run, both)
            continue
        columns = {name: dense(column[rows]) for name, column in contributions.items()}
        totals = {name: np.tensordot(both.T, column, axes=1) for name, column in columns.items()}
        if metric.needs_items(shared.conventions):
            totals |= _mass_bins(shared, metric, run, both)
        values[place, runs] = metric.value(totals, shared.conventions)
    return values


def _of_pairs(shared: Evidence, metric: Metric, run: int, both: Floats) -> Floats:
    """Compute a metric of pairs for one run on each set of its rows, given as columns of ``both``, shape (runs,)."""
    assert metric.pairs is not None
    items = shared.sorted_items(run, metric)
    values = np.empty(both.shape[1])
    for other, column in enumerate(both.T):
        if column.all():
            values[other] = shared.values(metric)[run]
            continue
        kept = column[items.row] > 0
        of_kept = metric.pairs(items.confidence[kept], items.correct[kept], ItemWeights.equal(int(kept.sum())))
        values[other] = metric.select_part(of_kept[..., 0])
    return values


def _mass_bins(shared: Evidence, metric: Metric, run: int, both: Floats) -> dict[str, Floats]:
    """Cut bins of equal mass for one run on each set of its rows, as totals by name, shape (runs, bins) each."""
    count = shared.conventions.mass_bins or 0
    items = shared.sorted_items(run, metric)
    of_sets = []
    for column in both.T:
        kept = column[items.row] > 0
        of_sets.append(mass_bins(items.confidence[kept], items.correct[kept], count))
    return dict(zip(BIN_COLUMNS, map(np.array, zip(*of_sets, strict=True)), strict=True))
