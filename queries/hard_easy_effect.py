"""The hard-easy effect: overconfidence by difficulty, question by question, with a fitted line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.queries.engine.bootstrap import percentile_interval
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.engine.question_difficulties import UNTESTED
from clueline.queries.engine.ranked_metric_rows import NO_INTERVAL
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.units import too_few_units
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels.arrays import Floats, ratio
from clueline.queries.metrics.kernels.per_question import slope
from clueline.queries.metrics.metric import Sums
from clueline.queries.selection import Answer, Selection, head, number

GRID = np.linspace(0, 1, 21)
# Points of all runs and of one run. More would only be a cloud, and the points of many runs at once are slow to draw.
ALL_POINTS, MAX_POINTS, MIN_POINTS = 5_000, 1000, 100
HARD_EASY = CATALOGUE["hard_easy_slope"]


def _fitted(sums: Sums, conventions: Conventions) -> Floats:
    """Return the height of the line at each difficulty of the grid, shape (..., grid)."""
    steepness = slope(sums["questions"], sums["x"], sums["y"], sums["xx"], sums["xy"])
    start = ratio(sums["y"] - steepness * sums["x"], sums["questions"])
    return start[..., None] + steepness[..., None] * GRID


LINE = replace(HARD_EASY, value=_fitted)  # a metric of sums, so that it can be resampled like any other


class QuestionPoint(msgspec.Struct):
    """One question: ``difficulty`` in [0, 1], and ``overconfidence``, mean confidence minus accuracy, in [-1, 1]."""

    question_id: str
    difficulty: float
    overconfidence: float


class LinePoint(msgspec.Struct):
    """The line at one difficulty, with its pointwise 95 % interval."""

    difficulty: float
    overconfidence: float
    low: float | None
    high: float | None


class HardEasyFit(RunName):
    """One run.

    Attributes:
        questions: number of questions behind the slope: answered, and with a difficulty.
        slope: of overconfidence on difficulty; None where ``missing`` says why.
        low, high: 95 % interval of the slope; None where ``no_interval`` says why.
        line: over the range of the difficulties.
        points: these questions in order of difficulty. If there are more than 1,000 (with more than five runs: 5,000 divided by
            the number of runs, but at least 100), only every n-th.
        second: the slope without plays of people whose end nobody stated, if it differs; see ``plays_of_people``.
    """

    SECOND: ClassVar = ("slope",)

    questions: int
    slope: float | None
    low: float | None
    high: float | None
    missing: str | None
    line: list[LinePoint]
    points: list[QuestionPoint]
    no_interval: str | None = None
    second: dict[str, float] = msgspec.field(default_factory=dict)


class Difficulty(Answer):
    """Answer of ``/api/v1/difficulty``; ``without`` is the number of questions of the selection that have no difficulty.

    ``sources`` is the number of the other questions by the source of their difficulty: ``given``, ``rooms`` (1 - the share of
    rooms in which the question was answered), ``human`` (1 - the share of human teams that were right) or ``runs`` (1 - mean
    accuracy; for the slope of a run, of the runs of other models with other answers). ``untested`` says why there are no slopes;
    None where there are. ``plays`` counts those of people, if the end of some is not stated.
    """

    without: int
    sources: dict[str, int]
    runs: list[HardEasyFit]
    untested: str | None = None
    plays: Plays | None = None


def difficulty(snapshot: Snapshot, selection: Selection) -> Difficulty:
    """Return overconfidence by difficulty for every run of a selection. LifeEval sec. 4; Lichtenstein & Fischhoff 1977."""
    answers = count_answers(snapshot, selection, [HARD_EASY])
    counted, evidence = answers.selection, answers.evidence
    used, units = evidence.questions_with(HARD_EASY), evidence.units_with(HARD_EASY)
    condition, parameters = counted.question_filter()
    counts: dict[str | None, int] = dict(
        snapshot.rows(
            f"select q.difficulty_source, count(*) from questions q where {condition} group by 1 order by 1", parameters
        )
    )
    values, heights = evidence.values(HARD_EASY), evidence.values(LINE)
    shape = (2, *heights.shape)
    ends, slope_ends = np.full(shape, np.nan), np.full((2, len(values)), np.nan)
    if evidence.units.count > 1 and evidence.runs:
        replicates = evidence.replicates(LINE)
        ends = _with_width(np.stack(percentile_interval(replicates.reshape(len(replicates), -1))[:2])).reshape(shape)
        slope_ends = _with_width(np.stack(metric_intervals(evidence, HARD_EASY)[:2]))
    overconfidence = (evidence.sums["confidence"] - evidence.sums["correct"]) / evidence.sums["items"]
    answer = Difficulty(
        *head(snapshot, selection),
        without=counts.get(None, 0),
        sources={source: count for source, count in counts.items() if source is not None},
        runs=[
            HardEasyFit(
                *run,
                questions=int(used[index]),
                slope=number(values[index]),
                low=number(slope_ends[0, index]),
                high=number(slope_ends[1, index]),
                missing=None if np.isfinite(values[index]) else HARD_EASY.undefined,
                line=_line(evidence, rows, heights[index], ends[:, index]),
                points=_points(evidence, rows, overconfidence),
                no_interval=None
                if np.isfinite(slope_ends[0, index]) or not np.isfinite(values[index])
                else too_few_units(int(units[index]), int(used[index])) or NO_INTERVAL,
            )
            for index, (run, rows) in enumerate(zip(evidence.runs, _rows_easiest_first(evidence), strict=True))
        ],
        untested=UNTESTED if evidence.selected_by_answers else None,
    )
    return with_second_values(snapshot, selection, answer, difficulty)


def _with_width(ends: Floats) -> Floats:
    """Return intervals, shape (2, n), with NaN for those without width, which say nothing."""
    return np.where(ends[0] < ends[1], ends, np.nan)


def _rows_easiest_first(evidence: Evidence) -> Iterator[NDArray[np.int64]]:
    """Yield, for each run, its rows on questions with a difficulty, easiest first."""
    for start, end in zip(evidence.starts, evidence.ends, strict=True):
        row_of = np.full(evidence.selected, -1)
        row_of[evidence.places[start:end]] = np.arange(start, end)
        rows = row_of[row_of >= 0]
        given = evidence.sums["difficulty"][rows]
        yield rows[np.argsort(given, kind="stable")[: np.isfinite(given).sum()]]


def _line(evidence: Evidence, rows: NDArray[np.int64], heights: Floats, ends: Floats) -> list[LinePoint]:
    if not np.isfinite(heights).all():
        return []
    difficulties = evidence.sums["difficulty"][rows]
    step = GRID[1]
    inside = (difficulties[0] - step < GRID) & (difficulties[-1] + step > GRID)
    return [
        LinePoint(float(at), float(height), number(low), number(high))
        for at, height, low, high in zip(GRID[inside], heights[inside], *ends[:, inside], strict=True)
    ]


def _points(evidence: Evidence, rows: NDArray[np.int64], overconfidence: Floats) -> list[QuestionPoint]:
    most = max(MIN_POINTS, min(MAX_POINTS, ALL_POINTS // len(evidence.runs)))
    shown = rows[:: max(1, -(-len(rows) // most))]
    columns = evidence.questions[shown].tolist(), evidence.sums["difficulty"][shown].tolist(), overconfidence[shown].tolist()
    return [QuestionPoint(*row) for row in zip(*columns, strict=True)]
