"""How far metrics agree on which runs are better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.gather_evidence import gather
from queries.engine.ranking import ranks
from queries.metrics import Metric
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.rank_agreement import tau_b
from queries.selection import Selection, number, selection_keys

MIN_RUNS = 2  # runs


class RankCorrelation(msgspec.Struct):
    """Kendall's tau-b between two metrics' rankings of the ``runs`` that have both; None where ``missing`` says why."""

    a: str
    b: str
    tau: float | None
    missing: str | None
    runs: int


class Agreement(msgspec.Struct):
    """Answer of ``/api/v1/agreement``: every two of ``metrics``, those that rank runs; ``left_out`` are those that do not."""

    data_version: str
    selection: dict[str, list[str]]
    metrics: list[str]
    left_out: list[str]
    pairs: list[RankCorrelation]


def agreement(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> Agreement:
    """Kendall's tau-b between each two metrics' rankings of the runs of a selection, best first in both.

    1: they order the runs alike; -1: the other way round. Kendall 1945.

    Args:
        snapshot: the store.
        selection: filters and conventions.
        metrics: those that rank no runs are left out.
    """
    evidence = gather(snapshot, restrict(snapshot, selection, by_default=True)[0], metrics)
    ranked = [metric for metric in metrics if metric.direction != "none"]
    return Agreement(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        metrics=[metric.key for metric in ranked],
        left_out=[metric.key for metric in metrics if metric.direction == "none"],
        pairs=rank_correlations(ranked, {metric.key: evidence.values(metric) for metric in ranked}),
    )


def rank_correlations(metrics: Sequence[Metric], values: Mapping[str, Floats]) -> list[RankCorrelation]:
    """Kendall's tau-b between each two metrics' rankings, from their values, shape (runs,) each, NaN where undefined."""
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
