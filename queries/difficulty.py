"""The hard-easy effect: overconfidence against difficulty, question by question, with the line through it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from data.store import Snapshot
from queries.evidence import Evidence, gather
from queries.metrics import CATALOGUE, Conventions
from queries.metrics.kernels.arrays import Floats, ratio
from queries.metrics.kernels.questions import slope
from queries.metrics.metric import Sums
from queries.plain import number, selection_keys
from queries.resampling import interval
from queries.selection import Selection

GRID = np.linspace(0, 1, 21)
MOST_POINTS = 1000  # per run; more would be a cloud, and slow
HARD_EASY = CATALOGUE["hard_easy_slope"]


def _fitted(sums: Sums, conventions: Conventions) -> Floats:
    """Height of the line at each difficulty of the grid, shape (..., grid)."""
    steepness = slope(sums["questions"], sums["x"], sums["y"], sums["xx"], sums["xy"])
    start = ratio(sums["y"] - steepness * sums["x"], sums["questions"])
    return start[..., None] + steepness[..., None] * GRID


LINE = replace(HARD_EASY, value=_fitted)  # a metric of sums, so that it is resampled as any other


class Point(msgspec.Struct):
    """One question."""

    question_id: str
    difficulty: float
    overconfidence: float


class OnLine(msgspec.Struct):
    """The line at one difficulty, with its pointwise 95 % interval."""

    difficulty: float
    overconfidence: float
    low: float | None
    high: float | None


class HardEasy(msgspec.Struct):
    """One run: the slope with its 95 % interval, the line over the difficulties there are, and its questions.

    ``points`` are all of its questions or, where these are more than 1,000, every n-th of them in order of difficulty.
    """

    run: str
    model: str
    elicitation: str
    questions: int
    slope: float | None
    low: float | None
    high: float | None
    missing: str | None
    line: list[OnLine]
    points: list[Point]


class Difficulty(msgspec.Struct):
    """Answer of ``/api/v1/difficulty``; ``without`` questions of the selection have no difficulty."""

    data_version: str
    selection: dict[str, list[str]]
    without: int
    runs: list[HardEasy]


def difficulty(snapshot: Snapshot, selection: Selection) -> Difficulty:
    """Overconfidence against difficulty for every run of a selection. LifeEval sec. 4; Lichtenstein & Fischhoff 1977."""
    evidence = gather(snapshot, selection, [HARD_EASY])
    condition, parameters = selection.question_filter()
    ((without,),) = snapshot.rows(f"select count(*) from questions q where {condition} and q.difficulty is null", parameters)
    values, heights = evidence.values(HARD_EASY), evidence.values(LINE)
    shape = (2, *heights.shape)
    ends, slope_ends = np.full(shape, np.nan), np.full((2, len(values)), np.nan)
    if evidence.selected > 1 and evidence.runs:
        replicates = evidence.replicates(LINE)
        ends = np.stack(interval(replicates.reshape(len(replicates), -1))[:2]).reshape(shape)
        slope_ends = np.stack(interval(evidence.replicates(HARD_EASY))[:2])
    gaps = (evidence.sums["confidence"] - evidence.sums["correct"]) / evidence.sums["items"]
    return Difficulty(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        without=without,
        runs=[
            HardEasy(
                run=run.run,
                model=run.model,
                elicitation=run.elicitation,
                questions=int(evidence.ends[index] - evidence.starts[index]),
                slope=number(values[index]),
                low=number(slope_ends[0, index]),
                high=number(slope_ends[1, index]),
                missing=None if np.isfinite(values[index]) else HARD_EASY.undefined,
                line=_line(evidence, index, heights[index], ends[:, index]),
                points=_points(evidence, index, gaps),
            )
            for index, run in enumerate(evidence.runs)
        ],
    )


def _known(evidence: Evidence, run: int) -> np.ndarray:
    """Rows of a run whose question has a difficulty, easiest first."""
    rows = np.arange(evidence.starts[run], evidence.ends[run])
    hard = evidence.sums["difficulty"][rows]
    rows = rows[np.isfinite(hard)]
    return rows[np.argsort(evidence.sums["difficulty"][rows], kind="stable")]


def _line(evidence: Evidence, run: int, heights: Floats, ends: Floats) -> list[OnLine]:
    if not np.isfinite(heights).all():
        return []
    hard = evidence.sums["difficulty"][_known(evidence, run)]
    step = GRID[1]
    inside = (hard[0] - step < GRID) & (hard[-1] + step > GRID)
    return [
        OnLine(float(at), float(height), number(low), number(high))
        for at, height, low, high in zip(GRID[inside], heights[inside], *ends[:, inside], strict=True)
    ]


def _points(evidence: Evidence, run: int, gaps: Floats) -> list[Point]:
    rows = _known(evidence, run)
    rows = rows[:: max(1, -(-len(rows) // MOST_POINTS))]
    return [Point(str(evidence.questions[row]), float(evidence.sums["difficulty"][row]), float(gaps[row])) for row in rows]
