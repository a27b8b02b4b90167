"""How far rankings by different metrics agree, and a metric over release dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import combinations

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.ranked_metric_rows import ranks
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import chosen
from clueline.queries.engine.shared_answers import ranking_values
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.metrics.kernels.per_question import tau_b
from clueline.queries.selection import Answer, Selection, head, number

MIN_RUNS = 2


class RankCorrelation(msgspec.Struct):
    """Kendall's tau-b between two metrics' rankings of the runs, in [-1, 1]; None where ``missing`` says why.

    ``a`` and ``b`` are keys of metrics, and ``runs`` is the number of runs that have both.
    """

    a: str
    b: str
    tau: float | None
    missing: str | None
    runs: int


class Agreement(Answer):
    """Answer of ``/api/v1/agreement``.

    ``pairs`` has every two of ``metrics``, the ones that rank runs. ``left_out`` are the metrics that do not rank runs.
    """

    metrics: list[str]
    left_out: list[str]
    pairs: list[RankCorrelation]


def agreement(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> Agreement:
    """Return Kendall's tau-b between the rankings of a selection's runs by each two metrics. Kendall 1945.

    It is 1 where both metrics order the runs in the same way from best to worst, and -1 where their orders are opposite. Metrics
    that do not rank runs are left out.
    """
    ranked = [metric for metric in metrics if metric.direction != "none"]
    runs = chosen(snapshot, selection)[0]
    values = {}
    for counted in count_groups(snapshot, selection, ranked):
        rows = [runs.index(run.run) for run in counted.evidence.runs]
        for metric in counted.metrics:
            values[metric.key] = np.full(len(runs), np.nan)
            values[metric.key][rows] = ranking_values(counted.evidence, metric)
    return Agreement(
        *head(snapshot, selection),
        metrics=[metric.key for metric in ranked],
        left_out=[metric.key for metric in metrics if metric.direction == "none"],
        pairs=rank_correlations(ranked, values),
    )


def rank_correlations(metrics: Sequence[Metric], values: Mapping[str, Floats]) -> list[RankCorrelation]:
    """Return Kendall's tau-b between the rankings by each two metrics, all of which must rank runs.

    ``values`` has the value of each run by key of the metric, each of shape (runs,), NaN where undefined.
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
    # scipy.stats.kendalltau, which also tests the coefficient, takes 200 times as long for 12 runs.
    order_a, order_b = (np.sign(ranks_[both, None] - ranks_[both]) for ranks_ in (of_a, of_b))
    tau = tau_b((order_a * order_b).sum(), np.abs(order_a).sum(), np.abs(order_b).sum())
    return RankCorrelation(a, b, number(float(tau)), None, runs)


TAG = "released"  # of a run: YYYY, YYYY-MM or YYYY-MM-DD
DATE_PATTERN = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


class DatedRun(RunName):
    """A ranked run whose model has a release date.

    ``released`` is the date as the tag states it, ``day`` the same as YYYY-MM-DD; the middle of the month or year if the tag
    states no more. The interval of the value has 95 %. ``best_so_far`` says whether no run that was released earlier, or on the
    same day, has a better value; None for a metric that does not rank runs.
    """

    released: str
    day: str
    value: float | None
    low: float | None
    high: float | None
    questions: int
    best_so_far: bool | None


class ReleaseDates(Answer):
    """Answer of ``/api/v1/release-dates``; runs by date. ``undated`` ones have no tag, and ``unreadable`` ones no date."""

    metric: str
    runs: list[DatedRun]
    undated: int
    unreadable: dict[str, str]


def read_date(text: str) -> date | None:
    """Read a release date, of a month or year the day in the middle, which is closest to any meant; None if it is no date.

    >>> read_date("2024-05-13"), read_date("2024-05"), read_date("2024"), read_date("May 2024")
    (datetime.date(2024, 5, 13), datetime.date(2024, 5, 16), datetime.date(2024, 7, 2), None)
    """
    match = DATE_PATTERN.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        return date(int(year), int(month or 7), int(day or (16 if month else 2)))
    except ValueError:  # such as the 30th of February
        return None


def release_dates(snapshot: Snapshot, selection: Selection, metric: Metric) -> ReleaseDates:
    """Return a metric of every ranked run that has the tag ``released``, by date, measured as on the leaderboard."""
    rows = [row for row in leaderboard(snapshot, selection, [metric], True).rows if row.ranked]
    stated = dict(
        snapshot.rows("select run, value from tags where dataset = $d and tag = $t", {"d": selection.dataset, "t": TAG})
    )
    days = {run: read_date(text) for run, text in stated.items()}
    dated = []
    for row in rows:
        day, cell = days.get(row.run), row.metrics[metric.key]
        if day is not None:
            name = (row.run, row.model, row.elicitation, stated[row.run], day.isoformat())
            dated.append(DatedRun(*name, cell.value, cell.low, cell.high, cell.questions, best_so_far=None))
    dated.sort(key=lambda run: run.day)
    if metric.ranks:
        _mark_best(dated, metric)
    return ReleaseDates(
        *head(snapshot, selection),
        metric=metric.key,
        runs=dated,
        undated=sum(row.run not in stated for row in rows),
        unreadable={row.run: stated[row.run] for row in rows if row.run in stated and days[row.run] is None},
    )


def _mark_best(runs: list[DatedRun], metric: Metric) -> None:
    """Set for each run, sorted by day, whether no run from before, or from the same day, has a smaller loss."""
    losses = metric.loss(np.array([np.nan if run.value is None else run.value for run in runs]))
    for run in runs:
        until = [loss for other, loss in zip(runs, losses, strict=True) if other.day <= run.day and not np.isnan(loss)]
        own = losses[runs.index(run)]
        run.best_so_far = bool(until) and not np.isnan(own) and bool(own <= min(until))
