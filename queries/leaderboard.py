"""The leaderboard: metrics of every run of a selection, with their ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store.generations import Snapshot
from queries.engine.bootstrap import TIED, differs_from_zero, percentile_interval
from queries.engine.evidence import Evidence, gather
from queries.metrics import Metric
from queries.selection import Selection, number, selection_keys

Floats = NDArray[np.float64]
TIE_LEVEL = 0.05  # p below which two runs are not tied


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


class Leaderboard(msgspec.Struct):
    """Answer of ``/api/v1/leaderboard``; rows in order of import."""

    data_version: str
    selection: dict[str, list[str]]
    questions: int  # of the selection, answered or not
    rows: list[RunRow]


def leaderboard(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], intervals: bool = False) -> Leaderboard:
    """Metrics of every run of a selection that answered any of its questions, with intervals if asked for."""
    evidence = gather(snapshot, selection, metrics)
    return Leaderboard(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=evidence.selected,
        rows=run_rows(evidence, metrics, intervals),
    )


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
        np.array([cell.rank if known else None for cell, known in zip(cells, resampled, strict=True)], float), loss
    )
    for cell, known, (low, high, count, rank_low, rank_high), tied in zip(cells, resampled, ends, groups, strict=True):
        if known:
            cell.low, cell.high, cell.replicates = number(low), number(high), int(count)
            cell.rank_low, cell.rank_high = number(rank_low), number(rank_high)
            cell.tied = tied


def ranks(loss: Floats) -> Floats:
    """Ranks from 1 by ascending loss, ties sharing the mean rank, NaN where loss is NaN. Shape (..., runs) in and out."""
    known = np.isfinite(loss)
    loss = np.where(known, loss, np.inf)  # behind all others
    order = np.argsort(loss, axis=-1)
    with np.errstate(invalid="ignore"):
        apart = np.diff(np.take_along_axis(loss, order, axis=-1), axis=-1) > TIED
    edge = np.ones((*loss.shape[:-1], 1), dtype=bool)
    place = np.arange(1.0, loss.shape[-1] + 1)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, apart], axis=-1), place, 0.0), axis=-1)
    last = np.minimum.accumulate(np.where(np.concatenate([apart, edge], axis=-1), place, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    found = np.empty_like(place * loss)
    np.put_along_axis(found, order, (first + last) / 2, axis=-1)
    return np.where(known, found, np.nan)


def tied_groups(rank: Floats, loss: Floats) -> list[list[int]]:
    """Groups of runs that follow each other in rank and of which no two differ (two-sided bootstrap p < 0.05).

    As the bars of a critical difference diagram: a run may be in several groups, which are numbered from the best; a run that
    differs from all others is in none.

    Args:
        rank: shape (runs,), NaN for a run without one.
        loss: in each replicate, shape (REPLICATES, runs).
    """
    groups: list[list[int]] = [[] for _ in rank]
    known = np.flatnonzero(np.isfinite(rank))
    order = known[np.argsort(rank[known], kind="stable")]
    last, number_of = -1, 0
    for first in range(len(order)):
        end = max(first, last)  # all up to ``last`` are known not to differ
        while end + 1 < len(order):
            against = loss[:, order[end + 1], None] - loss[:, order[first : end + 1]]
            if differs_from_zero(against, TIE_LEVEL).any():
                break
            end += 1
        if end > first and end > last:
            number_of += 1
            for run in order[first : end + 1]:
                groups[run].append(number_of)
        last = max(last, end)
    return groups
