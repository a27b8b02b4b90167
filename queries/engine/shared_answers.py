"""Runs that answered different questions: values on what two of them both answered, and means adjusted for what each skipped.

Both are those of ``Evidence.values`` where all runs answered the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clueline.data.sufficient_statistics import BIN_COLUMNS
from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import TIED, resample_clusters
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.run_columns import dense, sum_by_place
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio
from clueline.queries.metrics.kernels.bins import mass_bins
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.two_way_means import two_way_means
from clueline.queries.query_time_limit import check_time_limit


class AdjustedMeans(NamedTuple):
    """Means of runs over the questions that they were expected to answer, adjusted for the difficulty of those that each skipped.

    Attributes:
        values: shape (runs,); NaN for a run without the metric.
        replicates: the same in each bootstrap replicate, from the draws of ``Evidence.replicates``, shape (replicates, runs).
        widths: how much wider an interval is than that of the run's own value, shape (runs,).
    """

    values: Floats
    replicates: Floats
    widths: Floats


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
    paired = evidence.paired(metric)
    expected = paired.expected
    assert expected is not None
    runs, places = len(paired.runs), paired.selected
    values, weights = np.zeros((places, runs)), np.zeros((places, runs))
    of_rows = paired.per_question(metric)
    known = np.isfinite(of_rows)
    at = paired.places[known], paired.run_of_rows[known]
    values[at] = of_rows[known]
    weights[at] = paired.sums[metric.counts][known] if metric.level == "item" else 1.0

    result, influence = two_way_means(values, weights, expected.astype(float))
    drawn = sum_by_place(influence, paired.units.drawn, paired.drawn_from)
    replicates = result + resample_clusters(drawn.reshape(-1), paired.drawn_from).reshape(-1, runs)
    of_own = inference.standard_error(evidence.pseudo_values(metric, by_cluster=not metric.needs_items(evidence.conventions)))
    of_own = of_own[_places_of(paired, evidence)]
    of_units = sum_by_place(influence, paired.units.of_questions, paired.units.count)
    error = np.sqrt((of_units**2).sum(axis=0) * ratio(np.asarray(float(len(of_units))), np.asarray(len(of_units) - 1.0)))
    widths = np.where(of_own > TIED, np.maximum(error / np.where(of_own > TIED, of_own, 1.0), 1.0), 1.0)
    return AdjustedMeans(*(_of_all_runs(evidence, paired, column) for column in (result, replicates, widths)))


def _places_of(paired: Evidence, evidence: Evidence) -> Ints:
    """Return the index in some evidence of each run of what its runs share, which a run without any such answers has not."""
    index = {run.run: place for place, run in enumerate(evidence.runs)}
    return np.array([index[run.run] for run in paired.runs], dtype=np.int64)


def _of_all_runs(evidence: Evidence, paired: Evidence, columns: Floats) -> Floats:
    """Return columns of runs, shape (..., runs), for all runs of the evidence, NaN for those without shared answers."""
    result = np.full((*columns.shape[:-1], len(evidence.runs)), np.nan)
    result[..., _places_of(paired, evidence)] = columns
    return result


def ranking_values(evidence: Evidence, metric: Metric) -> Floats:
    """Return the values that rank the runs by a metric, shape (runs,): adjusted means, or else each run's own value."""
    adjusted = adjusted_means(evidence, metric)
    return evidence.values(metric) if adjusted is None else adjusted.values


def contradicting_pairs(evidence: Evidence, metric: Metric) -> int:
    """Count the pairs of runs that differ one way by their adjusted means and the other way on what both answered."""
    adjusted = adjusted_means(evidence, metric)
    if adjusted is None:
        return 0
    order = adjusted.values[:, None] - adjusted.values[None, :]
    differences = pair_differences(evidence, metric)
    turned = (order > TIED) & (differences < -TIED)
    return int(turned.sum())


def pair_differences(evidence: Evidence, metric: Metric) -> Floats:
    """Return the value of each run minus that of each other, both on what the two answered, shape (runs, runs)."""
    if evidence.expected is None:
        values = evidence.values(metric)
        return np.asarray(values[:, None] - values[None, :])
    values = evidence.once(("pair values", metric.key), lambda: _pair_values(evidence.paired(metric), metric))
    differences, paired = values - values.T, evidence.paired(metric)
    return _of_all_runs(evidence, paired, _of_all_runs(evidence, paired, differences).T).T


def _pair_values(paired: Evidence, metric: Metric) -> Floats:
    """Compute the value of each run (first axis) on the rows of which another run (second axis) answered the question, too."""
    runs = len(paired.runs)
    answered = np.zeros((paired.selected, runs))
    answered[paired.places, paired.run_of_rows] = 1.0
    values = np.empty((runs, runs))
    for run in range(runs):
        check_time_limit()
        rows = slice(int(paired.starts[run]), int(paired.ends[run]))
        both = answered[paired.places[rows]]
        if metric.pairs is not None:
            values[run] = _of_pairs(paired, metric, run, both)
        else:
            columns = {name: dense(column[rows]) for name, column in paired.contributions(metric).items()}
            totals = {name: np.tensordot(both.T, column, axes=1) for name, column in columns.items()}
            if metric.needs_items(paired.conventions):
                totals |= _mass_bins(paired, metric, run, both)
            values[run] = metric.value(totals, paired.conventions)
    return values


def _of_pairs(paired: Evidence, metric: Metric, run: int, both: Floats) -> Floats:
    """Compute a metric of pairs for one run on each set of its rows, given as columns of ``both``, shape (runs,)."""
    assert metric.pairs is not None
    items = paired.sorted_items(run, metric)
    values = np.empty(both.shape[1])
    for other, column in enumerate(both.T):
        if column.all():
            values[other] = paired.values(metric)[run]
            continue
        kept = column[items.row] > 0
        of_kept = metric.pairs(items.confidence[kept], items.correct[kept], ItemWeights.equal(int(kept.sum())))
        values[other] = metric.select_part(of_kept[..., 0])
    return values


def _mass_bins(paired: Evidence, metric: Metric, run: int, both: Floats) -> dict[str, Floats]:
    """Cut bins of equal mass for one run on each set of its rows, as totals by name, shape (runs, bins) each."""
    count = paired.conventions.mass_bins or 0
    items = paired.sorted_items(run, metric)
    of_sets = []
    for column in both.T:
        kept = column[items.row] > 0
        of_sets.append(mass_bins(items.confidence[kept], items.correct[kept], count))
    return dict(zip(BIN_COLUMNS, map(np.array, zip(*of_sets, strict=True)), strict=True))
