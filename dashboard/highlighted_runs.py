"""Which runs the figures of a page show in their colours; all others are grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dashboard.composite_queries import selected_runs
from dashboard.page_registry import PageRequest
from dashboard.service import service
from queries.leaderboard import leaderboard
from queries.metrics import Metric

MAX_HIGHLIGHTED = 8  # more lines than that cannot be told apart


def highlighted_runs(request: PageRequest[Any], metric: Metric | None = None, *, ranking: Sequence[str] = ()) -> tuple[str, ...]:
    """Ids of the runs to highlight: those that the address pins; else all where they are few; else the best ones.

    Args:
        request: of the page.
        metric: by which the best ones are chosen.
        ranking: instead of a metric, ids of runs, best first.
    """
    if request.parameters.pin:
        return tuple(request.parameters.pin)
    runs = selected_runs(request.selection)
    if len(runs) <= MAX_HIGHLIGHTED:
        return tuple(runs)
    best = list(ranking) or (_best_first(request, metric) if metric else [])
    return tuple(dict.fromkeys([*best, *runs]))[:MAX_HIGHLIGHTED]


def _best_first(request: PageRequest[Any], metric: Metric) -> list[str]:
    """Ids of the ranked runs by a metric."""
    rows = [row for row in service().ask(leaderboard, request.selection, (metric,)).rows if row.ranked]
    ranks = {row.run: row.metrics[metric.key].rank for row in rows}
    return sorted(ranks, key=lambda run: rank if (rank := ranks[run]) is not None else math.inf)
