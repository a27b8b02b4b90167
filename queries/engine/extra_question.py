"""Intervals of metrics that rest on few questions, few errors or few right answers: the bootstrap with an extra question.

A sample without an error says little about how often errors occur, so it cannot be resampled. The interval covers what the metric
would be with one more question, of random weight, that is all wrong or all right at the confidence 0 or 1: the bounds of any
confidence, not the extremes of the sample, which say nothing of rarer ones. For a share of questions, this is the interval of
Clopper and Pearson. For a mean of bounded values it is Gaffke's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import BIN_COLUMNS, STATISTICS, Items, bin_sums, sums
from clueline.queries.engine.bootstrap import ENDS, quantiles
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.rows import Rows, SortedItems
from clueline.queries.engine.run_columns import SparseColumn, bin_columns, dense, sparse
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD, Floats

NET_SCORE = CATALOGUE["net_score"]


def extra_question_interval(evidence: Evidence, metric: Metric) -> Floats:
    """Compute the 95 % interval of a metric of confidence or correctness by the Bayesian bootstrap with an extra question.

    The runs must have no respondents. Returns both ends, which enclose the value, shape (2, runs), NaN where the metric is
    undefined.

    Source: Gaffke 2005; Phan, Thomas & Learned-Miller 2021; Rubin 1981 (the Bayesian bootstrap). ``benchmarks/inference.md`` has
    the coverage.
    """
    values = evidence.values(metric)
    ends = np.stack([values, values])
    for replicates in _replicates(evidence, metric):
        low, high = quantiles(replicates, *ENDS)
        ends[0], ends[1] = np.fmin(ends[0], low), np.fmax(ends[1], high)
    return np.where(np.isfinite(values), ends, np.nan)


def extreme_replicates(evidence: Evidence, metric: Metric) -> tuple[Floats, Floats]:
    """Return the replicates behind both ends of ``extra_question_interval``, shape (replicates, runs) each.

    Runs share the weights of questions, so differences between runs can be computed.
    """
    every = np.stack(list(_replicates(evidence, metric)))
    ends = np.array([quantiles(replicates, *ENDS) for replicates in every])  # (kinds of extra question, 2, runs)
    runs = np.arange(every.shape[2])
    # Where a run is all right, two kinds reach the same upper end, but only a question that is all right has it everywhere.
    means = every.mean(axis=1)
    lowest = np.lexsort((means, np.where(np.isnan(ends[:, 0]), np.inf, ends[:, 0])), axis=0)[0]
    highest = np.lexsort((means, np.where(np.isnan(ends[:, 1]), -np.inf, ends[:, 1])), axis=0)[-1]
    return every[lowest, :, runs].T, every[highest, :, runs].T


def _replicates(evidence: Evidence, metric: Metric) -> Iterator[Floats]:
    """Yield the replicates with each kind of extra question, shape (replicates, runs)."""
    for extended in with_extra_question(evidence, smooth=not metric.recut):
        yield extended.replicates(metric)


def with_extra_question(evidence: Evidence, smooth: bool = True) -> Iterator[Evidence]:
    """Yield the evidence with each kind of extra question for each run."""
    for highest, right in product((False, True), (False, True)):
        kind = highest, right, smooth
        yield evidence.once(("extra question", kind), partial(_extended, evidence, *kind))


def _extended(evidence: Evidence, highest: bool, right: bool, smooth: bool) -> Evidence:
    """Return the evidence with one more question for each run, all right or all wrong, of as many items as a unit of it."""
    runs, rows, starts = len(evidence.runs), len(evidence.places), evidence.starts
    items = np.maximum(np.rint(np.add.reduceat(evidence.sums["items"], starts) / evidence.units_answered), 1).astype(np.int64)
    confidence = np.full(runs, float(highest))
    stated_by, correct = np.repeat(confidence, items), np.full(items.sum(), float(right))
    extra = Items(
        stated_by, correct, np.append(0, np.cumsum(items)), {name: np.zeros(items.sum()) for name in CURVES}
    )  # nobody knows it
    columns = sums(extra, evidence.sums.keys() & STATISTICS.keys())
    columns["rounded"] = np.where(highest, 0.0, items)
    if ATTEMPTED_ITEMS in evidence.sums:
        columns[ATTEMPTED_ITEMS] = items.astype(float) * right
    if NET_REWARD in evidence.sums:
        answers = NET_SCORE.side(confidence, np.full(runs, float(right)), evidence.conventions)
        columns[NET_REWARD] = items * net_reward(*answers, evidence.conventions.t)
    bins = bin_columns(bin_sums(extra, evidence.conventions.closed))
    order: Ints = np.argsort(np.append(evidence.run_of_rows, np.arange(runs)), kind="stable").astype(np.int64)

    def with_row(name: str, column: Floats) -> Floats:
        new = columns.get(name, np.full((runs, *column.shape[1:]), np.nan))
        unknown = np.add.reduceat(np.isfinite(column), evidence.starts, axis=0) == 0  # such as human curves where nobody played
        return np.concatenate([column, np.where(unknown, np.nan, new)])[order]

    def with_bins(name: str, column: SparseColumn) -> SparseColumn:
        new = bins[name] if name in bins else SparseColumn(np.zeros(runs + 1, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return SparseColumn(
            np.append(column.first[:-1], column.first[-1] + new.first),
            np.append(column.bin, new.bin),
            np.append(column.values, new.values),
            column.width,
        )[order]

    plain = {name: column for name, column in evidence.sums.items() if name not in BIN_COLUMNS}
    binned = evidence.rows.binned | {name: sparse(column) for name, column in evidence.sums.items() if name in BIN_COLUMNS}
    sorted_items = evidence.rows.items
    if sorted_items is not None:
        asked = np.repeat(np.arange(runs), items)
        above = [np.searchsorted(evidence.items_of(run)[0], confidence[run], side="right") for run in range(runs)]
        place = (evidence.item_cuts[:-1] + above)[asked]
        sorted_items = SortedItems(
            np.insert(sorted_items.row + evidence.run_of_rows[sorted_items.row], place, (evidence.ends + np.arange(runs))[asked]),
            np.insert(sorted_items.confidence, place, stated_by),
            np.insert(sorted_items.correct, place, correct),
        )
    samples = evidence.rows.samples
    extended = Rows(
        run=np.append(evidence.run_of_rows, np.arange(runs))[order],
        places=np.append(evidence.places, np.full(runs, evidence.selected))[order],
        sums={name: with_row(name, dense(column)) for name, column in plain.items()},
        binned={name: with_bins(name, column) for name, column in binned.items()},
        items=sorted_items,
        samples=samples and replace(samples, row=np.argsort(order)[:rows][samples.row]),
    )
    return Evidence(
        runs=evidence.runs,
        selected_questions=np.append(evidence.selected_questions, ""),
        conventions=evidence.conventions,
        source=extended,
        clustered=evidence.clustered and evidence.clustered.with_one_more(),
        smooth=smooth,
    )
