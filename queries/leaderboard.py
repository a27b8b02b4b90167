"""The leaderboard: metrics of every run of a selection, with their ranks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from data.store import Snapshot
from queries.engine.coverage import coverage, restrict
from queries.engine.evidence import gather
from queries.engine.inference import wilson_interval
from queries.engine.ranking import RunRow, run_rows
from queries.engine.select import failed_calls
from queries.metrics import CATALOGUE, Metric
from queries.selection import Selection, selection_keys

ACCURACY = CATALOGUE["accuracy"]
HARDLY_RIGHT = 0.05  # accuracy below which a run has too few right answers for its calibration to say much
ALMOST_NEVER_RIGHT = "almost never right: its calibration says little"
BELOW_CHANCE = "right less often than chance: its calibration says little"


class LeaderboardRow(RunRow):
    """One run.

    Attributes:
        answered: questions of the selection that it answered; ``questions`` are those that its metrics are computed from.
        ranked: false where it answered too few to be measured beside the others. Then its metrics are of all that it answered,
            without ranks and intervals.
        note: a warning about a run that is hardly ever right; see ``accuracy_note``.
    """

    answered: int
    ranked: bool
    note: str | None


class Leaderboard(msgspec.Struct):
    """Answer of ``/api/v1/leaderboard``; rows in order of import.

    Attributes:
        questions: of the selection, answered or not.
        common: of them, those that every ranked run answered, where metrics are computed from these alone; else None.
        lead: the metric that the page sorts by unless told otherwise. It charges for bad guesses, which proper scores such as
            Brier's do not: a guess that is surely wrong, at confidence 0, has the best Brier score there is.
    """

    data_version: str
    selection: dict[str, list[str]]
    questions: int
    common: int | None
    lead: str
    rows: list[LeaderboardRow]


def leaderboard(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], intervals: bool = False) -> Leaderboard:
    """Metrics of every run of a selection that answered any of its questions.

    Args:
        snapshot: of the store.
        selection: whose ``common`` is 1 by default.
        metrics: to compute.
        intervals: whether to give intervals and letters.
    """
    counted, restricted = restrict(snapshot, selection, by_default=True)
    counts = restricted or coverage(snapshot, selection)
    failed, chance = failed_calls(snapshot, selection), _chance(snapshot, selection.dataset)

    def rows_of(runs: Selection, ranked: bool) -> dict[str, LeaderboardRow]:
        evidence = gather(snapshot, runs, (*metrics, ACCURACY))
        rows = run_rows(evidence, metrics, failed, intervals and ranked)
        notes = [
            accuracy_note(float(accuracy), row.questions, chance)
            for row, accuracy in zip(rows, evidence.values(ACCURACY), strict=True)
        ]
        return {
            row.run: LeaderboardRow(**msgspec.structs.asdict(row), answered=counts.answered[row.run], ranked=ranked, note=note)
            for row, note in zip(rows, notes, strict=True)
        }

    rows = rows_of(counted, ranked=True)
    if restricted and restricted.apart:
        unranked = rows_of(selection.on_runs(restricted.apart), ranked=False)
        for row in unranked.values():
            for cell in row.metrics.values():
                cell.rank = None
        rows |= unranked
    return Leaderboard(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=counts.questions,
        common=restricted.common if restricted and restricted.differs else None,
        lead=leading_metric(has_people(snapshot, selection.dataset)).key,
        rows=[rows[run] for run in counts.answered if run in rows],
    )


def leading_metric(people: bool) -> Metric:
    """The metric by which runs are ordered: CalScore where human teams answered the dataset, else the net score."""
    return CATALOGUE["calscore" if people else "net_score"]


def has_people(snapshot: Snapshot, dataset: str) -> bool:
    """Whether human teams heard a question of a dataset."""
    ((heard,),) = snapshot.rows("select count(*) > 0 from exposures where dataset = $d and team_kind = 'human'", {"d": dataset})
    return bool(heard)


def accuracy_note(accuracy: float, questions: int, chance: float | None) -> str | None:
    """A warning about a run that is hardly ever right.

    It has one where Wilson's 95 % interval of its accuracy ends below 5 % or, where the answers to choose from are known, below
    chance. A question counts as one item, whatever its number of clues: that is as wide as the interval can be.

    Args:
        accuracy: of the run, NaN without items.
        questions: that it answered.
        chance: of being right by choosing at random; None where the choices are not known.

    >>> accuracy_note(0.01, 500, None)
    'almost never right: its calibration says little'
    >>> accuracy_note(0.0, 20, None)  # 20 questions do not show it
    >>> accuracy_note(0.3, 900, 1 / 2)
    'right less often than chance: its calibration says little'
    """
    _, high = wilson_interval(np.asarray(accuracy), np.asarray(float(questions)))
    if high < HARDLY_RIGHT:
        return ALMOST_NEVER_RIGHT
    return BELOW_CHANCE if chance is not None and high < chance else None


def _chance(snapshot: Snapshot, dataset: str) -> float | None:
    """Chance of being right by choosing a class at random, None where a dataset has no classes."""
    ((classes,),) = snapshot.rows("select max(len(classes)) from datasets where dataset = $d", {"d": dataset})
    return 1 / classes if classes else None
