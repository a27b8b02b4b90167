"""The leaderboard: metrics of every run of a selection, with their ranks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from data.store import Snapshot
from queries.engine.evidence import gather
from queries.engine.ranking import RunRow, run_rows
from queries.engine.select import failed_calls
from queries.metrics import Metric
from queries.selection import Selection, selection_keys


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
        rows=run_rows(evidence, metrics, failed_calls(snapshot, selection), intervals),
    )
