"""CalScore and its ranks by each human curve: whether the choice of h decides which run is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.engine.ranked_metric_rows import ranks
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.shared_answers import ranking_values
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, HUMAN_CURVES
from clueline.queries.selection import Answer, Selection, head, number

CALSCORE = CATALOGUE["calscore"]


class CurveCell(RunName):
    """CalScore of a ranked run by one of ``HUMAN_CURVES``, with its rank. For ``second``, see ``plays_of_people``."""

    SECOND: ClassVar = ("value", "questions")

    curve: str
    value: float | None
    rank: float | None
    questions: int
    missing: str | None
    second: dict[str, float] = msgspec.field(default_factory=dict)


class WhichH(Answer):
    """Answer of ``/api/v1/which-h``: a cell for each curve and ranked run. ``used`` is the curve of the leaderboard.

    ``first`` are the runs of rank 1 by each curve. ``same_order`` is whether all curves rank the runs alike; None for fewer than
    two runs. ``plays`` counts those of people, if the end of some is not stated.
    """

    used: str
    cells: list[CurveCell]
    first: dict[str, list[str]]
    same_order: bool | None
    plays: Plays | None = None


def which_h(snapshot: Snapshot, selection: Selection) -> WhichH:
    """Return CalScore of every run that the leaderboard ranks by each human curve, ranked as there."""
    ranked = [row.run for row in leaderboard(snapshot, selection, [CALSCORE]).rows if row.ranked]
    curves = {curve: _cells(snapshot, selection.on_runs(ranked), curve) if ranked else [] for curve in HUMAN_CURVES}
    orders = [[cell.rank for cell in cells] for cells in curves.values()]
    answer = WhichH(
        *head(snapshot, selection),
        used=CALSCORE.human_curve(selection.conventions) or HUMAN_CURVES[0],
        cells=[cell for cells in curves.values() for cell in cells],
        first={curve: _first(cells) for curve, cells in curves.items()},
        same_order=all(order == orders[0] for order in orders) if len(ranked) > 1 else None,
    )
    return with_second_values(snapshot, selection, answer, which_h)


def _cells(snapshot: Snapshot, selection: Selection, curve: str) -> list[CurveCell]:
    by_curve = selection.replace(conventions=replace(selection.conventions, human=curve))
    evidence = count_answers(snapshot, by_curve, [CALSCORE]).evidence
    order = ranks(CALSCORE.loss(ranking_values(evidence, CALSCORE)))
    columns = zip(evidence.runs, evidence.values(CALSCORE), order, evidence.questions_with(CALSCORE), strict=True)
    return [
        CurveCell(*run, curve, number(value), number(rank), int(questions), None if np.isfinite(value) else CALSCORE.undefined)
        for run, value, rank, questions in columns
    ]


def _first(cells: Sequence[CurveCell]) -> list[str]:
    known = [cell.rank for cell in cells if cell.rank is not None]
    return [cell.run for cell in cells if cell.rank is not None and cell.rank == min(known)]
