"""Chooses the runs that figures of a page show in colour; all others are grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dashboard.composite_queries import selected_runs
from dashboard.page_registry import PageRequest
from dashboard.service import service
from queries.leaderboard import leaderboard
from queries.metrics import Metric

MAX_HIGHLIGHTED = 8  # more lines cannot be distinguished


def highlighted_runs(request: PageRequest[Any], metric: Metric | None = None, *, ranking: Sequence[str] = ()) -> tuple[str, ...]:
    """Return ids of the runs to highlight: those that the address pins, or all if they are few, or the best ones.

    Args:
        request: the request of the page.
        metric: the metric by which the best runs are chosen; None if ``ranking`` is given, or to keep the runs' order.
        ranking: ids of runs, best first, instead of a metric.

    Returns:
        The pinned ids, or at most ``MAX_HIGHLIGHTED`` others.
    """
    if request.parameters.pin:
        return tuple(request.parameters.pin)
    runs = selected_runs(request.selection)
    if len(runs) <= MAX_HIGHLIGHTED:
        return tuple(runs)
    best = list(ranking) or (_best_first(request, metric) if metric else [])
    return tuple(dict.fromkeys([*best, *runs]))[:MAX_HIGHLIGHTED]


def _best_first(request: PageRequest[Any], metric: Metric) -> list[str]:
    """Return ids of the ranked runs, best first by a metric."""
    rows = [row for row in service().ask(leaderboard, request.selection, (metric,)).rows if row.ranked]
    ranks = {row.run: row.metrics[metric.key].rank for row in rows}
    return sorted(ranks, key=lambda run: rank if (rank := ranks[run]) is not None else math.inf)
