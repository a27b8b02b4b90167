"""How well calibrated a player of a session was, compared with the models on the same clues."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.data.store.answer_states import State, among_states
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS_USED, Items, bin_sums, sums
from clueline.queries.engine import run_columns
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.evidence import Evidence, Run
from clueline.queries.engine.reliability_diagrams import BIN_TOTALS
from clueline.queries.engine.rows import Rows
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.selection import Selection, number

METRICS = tuple(CATALOGUE[key] for key in ("accuracy_scored", "mean_confidence", "brier", "calscore"))
WIDE_BINS = 5  # bins of a player's diagram; few, because a player answers only some dozens of clues


class PlayedClue(msgspec.Struct, frozen=True):
    """A player's answer to a clue; ``confidence`` and ``correct`` are in [0, 1]."""

    question_id: str
    clue: int
    confidence: float
    correct: float


class WideBin(msgspec.Struct):
    """Answers with a confidence in [lower, upper); the last bin includes 1. The means, in [0, 1], are None without answers."""

    lower: float
    upper: float
    answers: int
    mean_confidence: float | None
    accuracy: float | None


class Standing(msgspec.Struct):
    """The player, whose ``run`` is None, or a run of a model, by metrics on the player's clues; None where undefined."""

    run: str | None
    model: str
    elicitation: str
    metrics: dict[str, float | None]


class PlayerResult(msgspec.Struct):
    """Answer of ``/api/v1/play/result``: the player, and the models that answered all of the player's clues.

    Questions and answers are those that the player has finished, and ``bins`` the player's diagram. Standings are sorted by
    ``order``, best first: CalScore, or the Brier score where the player has no CalScore, such as where no human team heard these
    questions. A metric is None if the model answered some of the clues as the metric does not count, such as without confidence.
    ``left_out`` counts the other runs of models.
    """

    questions: int
    answers: int
    bins: list[WideBin]
    order: str
    standings: list[Standing]
    left_out: int


def model_runs(snapshot: Snapshot, selection: Selection) -> list[str]:
    """Return the ids of a selection's runs that are of models, not of people. Withdrawn runs are left out unless named."""
    condition, parameters = selection.run_filter()
    return [run for (run,) in snapshot.rows(f"select run from runs r where {condition} and not respondents", parameters)]


def player_result(snapshot: Snapshot, selection: Selection, answers: tuple[PlayedClue, ...]) -> PlayerResult:
    """Compare a player with the models. Where the dataset no longer has a question of the player, CalScore is undefined."""
    questions = tuple(dict.fromkeys(answer.question_id for answer in answers))
    runs = model_runs(snapshot, selection)
    standings: dict[str, Standing] = {}

    def add(evidence: Evidence, metrics: Sequence[Metric]) -> None:
        for metric in metrics:
            for run, value in zip(evidence.runs, evidence.values(metric), strict=True):
                row = Standing(run.run or None, run.model, run.elicitation, {metric.key: None for metric in METRICS})
                standings.setdefault(run.run, row).metrics[metric.key] = number(value)

    of_questions = selection.replace(questions=questions)
    for counted in count_groups(snapshot, of_questions.on_runs(runs or ["-"]), METRICS, compared=False):
        complete = _answered_all(snapshot, runs, answers, counted.selection.items.shared)
        group, models = counted.metrics, counted.on_runs(complete or ["-"]).evidence
        if not standings:
            player = _evidence(snapshot, selection, answers, models)
            add(player, METRICS)
        add(models, group)
    rows = [*standings.values()]
    order = CATALOGUE["brier" if rows[0].metrics["calscore"] is None else "calscore"]
    worth = [np.nan if (value := row.metrics[order.key]) is None else value for row in rows]
    best_first = np.argsort(order.loss(np.array(worth)), kind="stable")
    return PlayerResult(
        questions=len(questions),
        answers=len(answers),
        bins=_wide_bins(player.values(BIN_TOTALS)[0]),
        order=order.key,
        standings=[rows[index] for index in best_first],
        left_out=len(runs) + 1 - len(rows),
    )


def _answered_all(snapshot: Snapshot, runs: Sequence[str], answers: Sequence[PlayedClue], states: tuple[State, ...]) -> list[str]:
    """Return those of some runs that answered every clue of the player in one of some states, in the same order."""
    played = {"questions": [answer.question_id for answer in answers], "clues": [answer.clue for answer in answers]}
    rows = snapshot.rows(
        f"""with played as (select unnest($questions::varchar[]) as question_id, unnest($clues::integer[]) as clue)
        select run from (select distinct run, question_id, clue from {snapshot.responses(runs)} where {among_states(states)})
        join played using (question_id, clue) group by run having count(*) = (select count(*) from played)""",
        played,
    )
    complete = {run for (run,) in rows}
    return [run for run in runs if run in complete]


def _evidence(snapshot: Snapshot, selection: Selection, answers: Sequence[PlayedClue], models: Evidence) -> Evidence:
    """Return the player's answers as the evidence of a run with a blank id."""
    place_of = {str(question): place for place, question in enumerate(models.selected_questions)}
    for answer in answers:
        place_of.setdefault(answer.question_id, len(place_of))
    ordered = sorted(answers, key=lambda answer: (place_of[answer.question_id], answer.clue))
    places = np.array([place_of[answer.question_id] for answer in ordered])
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    items = Items(
        np.array([answer.confidence for answer in ordered]),
        np.array([answer.correct for answer in ordered], float),
        np.append(starts, len(ordered)),
        _curves(snapshot, selection.dataset, ordered),
    )
    reads = {name for metric in METRICS for name in metric.reads(models.conventions)} | {"items"}
    rows = Rows(
        run=np.zeros(len(starts), np.int64),
        places=places[starts],
        sums=sums(items, sorted(reads - {*BIN_COLUMNS, BINS_USED})),
        binned=run_columns.bin_columns(bin_sums(items)),
    )
    return Evidence((Run("", "You", ""),), np.array(list(place_of)), models.conventions, rows)


def _curves(snapshot: Snapshot, dataset: str, answers: Sequence[PlayedClue]) -> dict[str, Floats] | None:
    """Return each human curve at the clue of each answer, NaN where the dataset has no such clue; None if it has no curves."""
    curves = run_columns.clues(snapshot, dataset)
    if curves.curves is None:
        return None
    sql = "select question_id, position, clues from questions where dataset = $d and list_contains($q::varchar[], question_id)"
    rows = snapshot.rows(sql, {"d": dataset, "q": list({answer.question_id for answer in answers})})
    question = {question_id: (position, clues) for question_id, position, clues in rows}
    known = np.array([answer.clue < question.get(answer.question_id, (0, 0))[1] for answer in answers])
    at = np.array([
        curves.first[question[answer.question_id][0]] + answer.clue if is_known else 0
        for answer, is_known in zip(answers, known, strict=True)
    ])  # fmt: skip
    return {name: np.where(known, curve[at], np.nan) for name, curve in curves.curves.items()}


def _wide_bins(totals: Floats) -> list[WideBin]:
    """Merge bins of a tenth, items and sums of confidence and correctness of shape (10, 3), into bins of a fifth."""
    wide = totals.reshape(WIDE_BINS, -1, totals.shape[-1]).sum(axis=1)
    return [
        WideBin(index / WIDE_BINS, (index + 1) / WIDE_BINS, int(items), *(
            (float(confidence / items), float(correct / items)) if items else (None, None)
        ))
        for index, (items, confidence, correct) in enumerate(wide)
    ]  # fmt: skip
