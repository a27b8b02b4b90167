"""How far metrics agree on which runs are better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.gather_evidence import gather
from queries.engine.ranked_metric_rows import ranks, selections_by_counted
from queries.engine.stored_or_computed_rows import chosen
from queries.metrics import Metric
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.rank_agreement import tau_b
from queries.selection import Selection, number, selection_keys

MIN_RUNS = 2


class RankCorrelation(msgspec.Struct):
    """Kendall's tau-b between two metrics' rankings of the runs.

    Attributes:
        a, b: keys of the metrics.
        tau: in [-1, 1]; None where ``missing`` says why.
        runs: number of runs that have both metrics.
    """

    a: str
    b: str
    tau: float | None
    missing: str | None
    runs: int


class Agreement(msgspec.Struct):
    """Answer of ``/api/v1/agreement``.

    ``pairs`` has every two of ``metrics``, the ones that rank runs. ``left_out`` are the metrics that do not rank runs.
    """

    data_version: str
    selection: dict[str, list[str]]
    metrics: list[str]
    left_out: list[str]
    pairs: list[RankCorrelation]


def agreement(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> Agreement:
    """Return Kendall's tau-b between the rankings of a selection's runs by each two metrics. Kendall 1945.

    It is 1 where both metrics order the runs in the same way from best to worst, and -1 where their orders are opposite.

    Args:
        snapshot: the store.
        selection: filters and conventions.
        metrics: to compare; metrics that do not rank runs are left out.
    """
    ranked = [metric for metric in metrics if metric.direction != "none"]
    runs = chosen(snapshot, selection)[0]
    values = {}
    for counted, group in selections_by_counted(snapshot, selection, ranked):
        restricted, _ = restrict(snapshot, counted, by_default=True)
        evidence = gather(snapshot, restricted, group)
        rows = [runs.index(run.run) for run in evidence.runs]
        for metric in group:
            values[metric.key] = np.full(len(runs), np.nan)
            values[metric.key][rows] = evidence.values(metric)
    return Agreement(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        metrics=[metric.key for metric in ranked],
        left_out=[metric.key for metric in metrics if metric.direction == "none"],
        pairs=rank_correlations(ranked, values),
    )


def rank_correlations(metrics: Sequence[Metric], values: Mapping[str, Floats]) -> list[RankCorrelation]:
    """Return Kendall's tau-b between the rankings by each two metrics.

    Args:
        metrics: that rank runs.
        values: value of each run by key of the metric, each of shape (runs,), NaN where undefined.
    """
    orders = {metric.key: ranks(metric.loss(values[metric.key])) for metric in metrics}
    return [_tau(first.key, second.key, orders[first.key], orders[second.key]) for first, second in combinations(metrics, 2)]


def _tau(a: str, b: str, of_a: Floats, of_b: Floats) -> RankCorrelation:
    both = np.isfinite(of_a) & np.isfinite(of_b)
    runs = int(both.sum())
    if runs < MIN_RUNS:
        return RankCorrelation(a, b, None, f"fewer than {MIN_RUNS} runs have both", runs)
    if len(set(of_a[both])) == 1 or len(set(of_b[both])) == 1:
        return RankCorrelation(a, b, None, "one of them ranks all runs the same", runs)
    return RankCorrelation(a, b, number(tau_b(of_a[both], of_b[both])), None, runs)
