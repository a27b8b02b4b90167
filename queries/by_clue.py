"""Confidence, accuracy and people clue by clue: where a run is surer than right while people do not know yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import Counted, count_answers
from clueline.queries.engine.parts_of_questions import By, Part, parts_of_questions
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.engine.question_difficulties import UNTESTED
from clueline.queries.engine.ranked_metric_rows import MetricCell, metric_cells
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.findings import leaves_out_zero, simultaneous_interval
from clueline.queries.metrics import CATALOGUE, Conventions, Metric
from clueline.queries.metrics.kernels.arrays import ratio
from clueline.queries.metrics.metric import Floats, Sums
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, dataset_conventions, head

KNOWN = 0.5  # people know a part from this mean of their curve on
CONFIDENCE, ACCURACY, GAP = CATALOGUE["mean_confidence"], CATALOGUE["accuracy_scored"], CATALOGUE["overconfidence"]


def _weight(conventions: Conventions) -> str:
    """Return the name of the statistic sum (1 - h) by the human curve in use."""
    return f"{conventions.human_curve_or_default}_weight"


def _of_heard(sums: Sums, conventions: Conventions) -> Sums:
    heard = np.isfinite(sums[_weight(conventions)])
    items = np.where(heard, sums["items"], 0.0)
    weight = np.where(heard, sums[_weight(conventions)], 0.0)
    return {"known": items - weight, "items": items, "questions": (items > 0).astype(float)}


def _mean_known(totals: Sums, conventions: Conventions) -> Floats:
    return ratio(totals["known"], totals["items"])


PEOPLE = Metric(
    key="people",
    name="People by then",
    label="People",
    symbol=r"\bar h",
    direction="none",
    formula=r"\frac{1}{N}\sum_i h_i",
    words="Mean of the human curve at the clues of the answers.",
    source="GRACE (Sung et al. 2025)",
    needs=("human buzzes",),
    reads=lambda conventions: ("items", _weight(conventions)),
    contributions=_of_heard,
    value=_mean_known,
    undefined="no human team heard these questions",
    axioms=(),
)
MEASURED = (CONFIDENCE, ACCURACY, GAP, PEOPLE)


class CluePoint(msgspec.Struct):
    """The answers of a run at one part of the questions.

    ``number`` counts parts from 1, and ``part`` is how it is called: the number of a clue within its question, or a range of the
    share of the question that is revealed, whose upper end belongs to it. ``mean_confidence`` and ``accuracy_scored`` are means
    over the same ``items`` answers, ``overconfidence`` is their difference, and ``people`` is the mean of the human curve at the
    clues of those on the ``heard`` questions that a human team heard. Each has its 95 % interval; None where ``no_interval`` says
    why, by name. ``missing`` has the reason for each value that is None. For ``second``, see ``plays_of_people``.
    """

    SECOND: ClassVar = ("people", "heard")

    number: int
    part: str
    questions: int
    items: int
    mean_confidence: float | None
    mean_confidence_low: float | None
    mean_confidence_high: float | None
    accuracy_scored: float | None
    accuracy_scored_low: float | None
    accuracy_scored_high: float | None
    overconfidence: float | None
    overconfidence_low: float | None
    overconfidence_high: float | None
    people: float | None
    people_low: float | None
    people_high: float | None
    heard: int
    missing: dict[str, str]
    no_interval: dict[str, str]
    second: dict[str, float] = msgspec.field(default_factory=dict)


class Overconfident(msgspec.Struct):
    """A part at which people do not know yet, and what a run's overconfidence is there.

    ``low`` and ``high`` are its 95 % interval, which holds for all parts of all runs together. ``shown`` is whether that is above
    0: whether the run is shown to be overconfident there.
    """

    number: int
    part: str
    items: int
    overconfidence: float
    low: float | None
    high: float | None
    shown: bool


class RunByClue(RunName):
    """One run.

    ``first`` is the first part at which its confidence exceeds its accuracy while people do not know yet, and ``worst`` the one
    at which it does so most. Both are among the parts where that is shown, if any; None where it never does.
    """

    questions: int
    items: int
    points: list[CluePoint]
    first: Overconfident | None
    worst: Overconfident | None


class ByClue(Answer):
    """Answer of ``/api/v1/by-clue``: the worst run first.

    ``by`` is ``clue`` or ``revealed``, and ``human`` the human curve in use. People know a part from ``known`` on, the mean of
    this curve at it. Where no human team heard any of a part's questions, people count as not knowing it. ``untested`` says why
    no run is shown to be overconfident; None where runs can be. ``plays`` counts those of people, if the end of some is not
    stated.
    """

    by: By
    human: str
    known: float
    runs: list[RunByClue]
    untested: str | None = None
    plays: Plays | None = None


def by_clue(snapshot: Snapshot, selection: Selection, by: By = "clue") -> ByClue:
    """Return confidence, accuracy and people at each part of the questions, for every run that takes part.

    Parts are the clues by their number within the question or, by ``revealed``, those that end in each fifth of it. All values
    of a part are over the same answers.
    """
    counted = count_answers(snapshot, selection, MEASURED)
    whole = counted.evidence
    points: dict[str, list[CluePoint]] = {run.run: [] for run in whole.runs}
    for part in parts_of_questions(snapshot, counted.selection, by):
        check_time_limit()
        for run, point in _points(counted, part).items():
            points[run].append(point)
    tests = sum(len(of_run) for of_run in points.values())
    answer = ByClue(
        *head(snapshot, selection),
        by=by,
        human=dataset_conventions(snapshot, selection).human_curve_or_default,
        known=KNOWN,
        runs=[
            _run(whole.run_facts(index), points[run.run], tests, tested=not whole.selected_by_answers)
            for index, run in enumerate(whole.runs)
        ],
        untested=UNTESTED if whole.selected_by_answers else None,
    )
    answer.runs.sort(key=_badness, reverse=True)
    return with_second_values(snapshot, selection, answer, lambda other, same: by_clue(other, same, by))


def _points(counted: Counted, part: Part) -> dict[str, CluePoint]:
    """Return the point of each run that answered at a part."""
    evidence = counted.of_clues(part.clues).gather(MEASURED)
    measured = {metric.key: metric_cells(metric, evidence, intervals=True) for metric in MEASURED}
    points = {}
    for index, run in enumerate(evidence.runs):
        facts = evidence.run_facts(index)
        cells = {name: of_runs[index] for name, of_runs in measured.items()}
        numbers: dict[str, Any] = {}
        for name, cell in cells.items():
            numbers |= {name: cell.value, f"{name}_low": cell.low, f"{name}_high": cell.high}
        points[run.run] = CluePoint(
            number=part.number,
            part=part.value,
            questions=facts["questions"],
            items=facts["items"],
            **numbers,
            heard=cells[PEOPLE.key].questions,
            missing={name: cell.missing for name, cell in cells.items() if cell.missing},
            no_interval={name: cell.no_interval for name, cell in cells.items() if cell.no_interval},
        )
    return points


def _run(facts: dict[str, Any], points: Sequence[CluePoint], tests: int, *, tested: bool) -> RunByClue:
    early = [_overconfident(point, tests, tested=tested) for point in points if not people_know(point)]
    over = [place for place in early if place is not None and place.overconfidence > 0]
    told = [place for place in over if place.shown] or over
    worst = max(told, key=lambda place: place.overconfidence, default=None)
    return RunByClue(**facts, points=[*points], first=next(iter(told), None), worst=worst)


def people_know(point: CluePoint) -> bool:
    """Whether people know a part: the mean of their curve is one half or more."""
    return point.people is not None and point.people >= KNOWN


def _overconfident(point: CluePoint, tests: int, *, tested: bool) -> Overconfident | None:
    if point.overconfidence is None:
        return None
    cell = MetricCell(point.overconfidence, None, point.questions, low=point.overconfidence_low, high=point.overconfidence_high)
    ends = simultaneous_interval(cell, GAP, tests) if tested else None
    low, high = ends or (None, None)
    shown = leaves_out_zero(ends) and low is not None and low > 0
    return Overconfident(point.number, point.part, point.items, point.overconfidence, low, high, shown)


def _badness(run: RunByClue) -> tuple[bool, float]:
    """Return what the worst run has most of: overconfidence that is shown, then overconfidence."""
    return (run.worst.shown, run.worst.overconfidence) if run.worst else (False, 0.0)
