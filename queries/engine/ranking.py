"""Metrics of the runs of a selection with their ranks, intervals and groups of ties."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.stats import rankdata

from queries.engine.bootstrap import SIGNIFICANCE, TIED, differs_from_zero, percentile_interval
from queries.engine.evidence import Evidence
from queries.metrics import Metric
from queries.metrics.kernels.arrays import Floats
from queries.selection import number


class MetricCell(msgspec.Struct):
    """One metric of one run; ``value`` is None exactly where ``missing`` says why. Ties share the mean rank.

    Where intervals are asked for, ``low`` and ``high`` are the 95 % percentile interval over ``replicates``, those of the
    bootstrap in which the value is defined; ``rank_low`` and ``rank_high`` the same of its rank; ``tied`` the groups that it
    belongs to: in a group, no run differs from another (two-sided p >= 0.05, not adjusted). They are None without intervals, and
    for a value from a single question, whose resampling says nothing.
    """

    value: float | None
    missing: str | None
    questions: int  # that the value is computed from
    rank: float | None = None
    low: float | None = None
    high: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    replicates: int | None = None
    tied: list[int] | None = None


class RunRow(msgspec.Struct):
    """One run."""

    run: str
    model: str
    elicitation: str
    questions: int
    items: int
    metrics: dict[str, MetricCell]


def run_rows(evidence: Evidence, metrics: Sequence[Metric], intervals: bool = False) -> list[RunRow]:
    """One row per run."""
    cells = {metric.key: metric_cells(metric, evidence, intervals) for metric in metrics}
    answered = evidence.totals({"questions": np.ones(len(evidence.questions)), "items": evidence.sums["items"]})
    return [
        RunRow(
            run=run.run,
            model=run.model,
            elicitation=run.elicitation,
            questions=int(answered["questions"][index]),
            items=int(answered["items"][index]),
            metrics={metric.key: cells[metric.key][index] for metric in metrics},
        )
        for index, run in enumerate(evidence.runs)
    ]


def metric_cells(metric: Metric, evidence: Evidence, intervals: bool = False) -> list[MetricCell]:
    """A metric of each run, with its rank among them."""
    values = evidence.values(metric)
    cells = [
        MetricCell(number(value), None if math.isfinite(value) else metric.undefined, questions=int(count), rank=number(rank))
        for value, count, rank in zip(values, evidence.questions_with(metric), ranks(metric.loss(values)), strict=True)
    ]
    if intervals and any(cell.questions > 1 for cell in cells):
        _add_intervals(cells, metric, evidence.replicates(metric))
    return cells


def _add_intervals(cells: list[MetricCell], metric: Metric, replicates: Floats) -> None:
    loss = metric.loss(replicates)
    ends = zip(*percentile_interval(replicates), *percentile_interval(ranks(loss))[:2], strict=True)
    resampled = [cell.value is not None and cell.questions > 1 for cell in cells]
    groups = tied_groups(
        np.array([cell.rank if has_interval else None for cell, has_interval in zip(cells, resampled, strict=True)], float), loss
    )
    for cell, has_interval, (low, high, count, rank_low, rank_high), tied in zip(cells, resampled, ends, groups, strict=True):
        if has_interval:
            cell.low, cell.high, cell.replicates = number(low), number(high), int(count)
            cell.rank_low, cell.rank_high = number(rank_low), number(rank_high)
            cell.tied = tied


def ranks(loss: Floats) -> Floats:
    """Ranks from 1 by ascending loss. Ties, to within 1e-12, share their mean rank.

    Args:
        loss: shape (..., runs); NaN for a run without a value.

    Returns:
        shape (..., runs), NaN where the loss is.

    >>> ranks(np.array([0.3, 0.1, np.nan, 0.3]))
    array([2.5, 1. , nan, 2.5])
    """
    loss = np.where(np.isfinite(loss), loss, np.nan)
    order = np.argsort(loss, axis=-1)  # NaN last
    ascending = np.take_along_axis(loss, order, axis=-1)
    # Losses that follow each other more closely than TIED become equal levels, for the sake of rankdata.
    steps = np.diff(ascending, axis=-1, prepend=ascending[..., :1]) > TIED
    levels = np.empty_like(loss)
    np.put_along_axis(levels, order, np.where(np.isnan(ascending), np.nan, np.cumsum(steps, axis=-1)), axis=-1)
    return np.asarray(rankdata(levels, axis=-1, nan_policy="omit"))


def tied_groups(rank: Floats, loss: Floats) -> list[list[int]]:
    """Groups of runs that follow each other in rank, no two of which differ (two-sided bootstrap p < 0.05).

    They are the bars of a critical difference diagram (Demšar 2006), numbered from the best. A run may be in several groups.
    A run that differs from all others is in none.

    Args:
        rank: shape (runs,), NaN for a run without one.
        loss: in each replicate, shape (REPLICATES, runs).

    Returns:
        The groups of each run.
    """
    groups: list[list[int]] = [[] for _ in rank]
    ranked = np.flatnonzero(np.isfinite(rank))
    order = ranked[np.argsort(rank[ranked], kind="stable")]
    last, number_of = -1, 0
    for first in range(len(order)):
        end = max(first, last)  # all up to ``last`` are known not to differ
        while end + 1 < len(order):
            against = loss[:, order[end + 1], None] - loss[:, order[first : end + 1]]
            if differs_from_zero(against, SIGNIFICANCE).any():
                break
            end += 1
        if end > first and end > last:
            number_of += 1
            for run in order[first : end + 1]:
                groups[run].append(number_of)
        last = max(last, end)
    return groups
