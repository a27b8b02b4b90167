"""A metric by the release dates of models, which runs have as a tag."""

from __future__ import annotations

import re
from datetime import date

import msgspec
import numpy as np

from data.store import Snapshot
from queries.leaderboard import leaderboard
from queries.metrics import Metric
from queries.selection import Selection, selection_keys

TAG = "released"  # of a run: YYYY, YYYY-MM or YYYY-MM-DD
DATE_PATTERN = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


class DatedRun(msgspec.Struct):
    """A ranked run whose model has a release date.

    ``released`` is the date as the tag states it, ``day`` the same as YYYY-MM-DD; the middle of the month or year if the tag
    states no more. The interval of the value has 95 %. ``best_so_far`` says whether no run that was released earlier, or on the
    same day, has a better value; None for a metric that does not rank runs.
    """

    run: str
    model: str
    elicitation: str
    released: str
    day: str
    value: float | None
    low: float | None
    high: float | None
    questions: int
    best_so_far: bool | None


class ReleaseDates(msgspec.Struct):
    """Answer of ``/api/v1/release-dates``; runs by date. ``undated`` ones have no tag, and ``unreadable`` ones no date."""

    data_version: str
    selection: dict[str, list[str]]
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
            dated.append(
                DatedRun(
                    run=row.run,
                    model=row.model,
                    elicitation=row.elicitation,
                    released=stated[row.run],
                    day=day.isoformat(),
                    value=cell.value,
                    low=cell.low,
                    high=cell.high,
                    questions=cell.questions,
                    best_so_far=None,
                )
            )
    dated.sort(key=lambda run: run.day)
    if metric.ranks:
        _mark_best(dated, metric)
    return ReleaseDates(
        data_version=snapshot.version,
        selection=selection_keys(selection),
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
