"""The data that buzzing is computed from: the clue table, and the responses of each run with the buzzes that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.buzzing.buzz_parameters import Rules
from queries.buzzing.clues_and_team_buzzes import ClueTable, Ints, read_clue_table
from queries.engine import run_columns
from queries.engine.common_questions import restrict
from queries.engine.evidence import Run
from queries.engine.item_filter import attribute_masks
from queries.engine.stored_or_computed_rows import batches_of_runs, rows_of_questions, selection_clauses
from queries.metrics.counted_answers import BUZZED
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.buzzing import (
    Buzzpoints,
    StepFunction,
    ThresholdInterval,
    best_thresholds,
    buzzpoints_at,
    chance_unanswered,
    possible_buzzpoints,
    totals_by_threshold,
)
from queries.metrics.kernels.team_buzzes import expected_points
from queries.query_time_limit import check_time_limit
from queries.selection import Selection

FLOOR = {"confidence": 0.0, "logprob": -np.inf}  # the lowest threshold
NO_PEOPLE = "no human team heard any of these questions"
NO_LOGPROBS = "this run has no token log-probabilities"
NOT_INCREMENTAL = "only datasets of kind incremental, whose questions are read clue by clue, have buzzes"


@dataclass(frozen=True)
class RunBuzzing:
    """The responses of one run, sorted by question and clue, and the buzzes that follow.

    If a question has several samples, only the first one counts: a system buzzes once. Arrays have shape (items,): ``question``
    and ``at`` are the number of each item's question and the row of its clue in the clue table, ``score`` what is compared with
    the threshold, on the scale of the rules, NaN where unknown.
    """

    run: Run
    clue_table: ClueTable
    rules: Rules
    question: Ints
    at: Ints
    score: Floats
    correct: Floats

    @cached_property
    def questions(self) -> Ints:
        """The questions that the run answered, ascending, shape (questions,)."""
        return self.question[np.flatnonzero(np.diff(self.question, prepend=-1))]

    @cached_property
    def passing(self) -> Buzzpoints:
        """The items at which some threshold makes the run buzz."""
        return possible_buzzpoints(self.question, self.score)

    @cached_property
    def heard(self) -> NDArray[np.bool_]:
        """Whether a human team heard each of the run's questions, shape (questions,)."""
        return np.isfinite(self.clue_table.opponents.first[self.clue_table.first[self.questions]])

    @cached_property
    def wins(self) -> Floats:
        """What a buzz at each item adds to expected wins: pi(f) y, shape (items,). NaN where pi is unknown."""
        pi = (
            chance_unanswered(self.clue_table.revealed[self.at])
            if self.rules.curve == "polynomial"
            else 1 - self.clue_table.human[self.at]
        )
        return pi * self.correct

    @cached_property
    def counted(self) -> int:
        """Number of questions over which expected wins are averaged."""
        return len(self.questions) if self.rules.curve == "polynomial" else int(self.heard.sum())

    @cached_property
    def steps(self) -> StepFunction:
        """Totals of expected wins, system score and wins against people by threshold, shape (thresholds, 3)."""
        rows = self.passing.rows
        at, correct = self.at[rows], self.correct[rows]
        opponents = self.clue_table.opponents
        worth = np.stack([self.wins[rows], expected_points(opponents, correct, at), correct * opponents.first[at]], axis=-1)
        return totals_by_threshold(self.passing, np.nan_to_num(worth), FLOOR[self.rules.scale])

    @cached_property
    def optimum(self) -> ThresholdInterval | None:
        """The thresholds with the highest expected wins; None where expected wins cannot be computed or there are no scores."""
        if not self.counted or not self.scored:
            return None
        return best_thresholds(self.steps.thresholds, self.steps.totals[:, 0] / self.counted)

    @property
    def scored(self) -> bool:
        """Whether the run has any score on the scale."""
        return bool(np.isfinite(self.score).any())

    @property
    def threshold(self) -> float | None:
        """The threshold in use: the one asked for, else one of the best ones; None where there is neither, or no scores."""
        if not self.scored:
            return None
        requested = self.rules.threshold_of(self.run.run)
        if requested is not None or self.optimum is None:
            return requested
        return representative_threshold(self.optimum)

    @cached_property
    def buzzes(self) -> Ints | None:
        """Indices of the items at which the run buzzes, at the threshold in use, shape (buzzes,); None without a threshold."""
        return None if self.threshold is None else buzzpoints_at(self.passing, self.threshold)


def representative_threshold(best: ThresholdInterval) -> float:
    """Return one threshold of an interval: its lower end or, if that is -inf, 1 below its upper end; 0 if both are infinite."""
    if np.isfinite(best.low):
        return best.low
    return best.high - 1 if np.isfinite(best.high) else 0.0


@dataclass(frozen=True)
class BuzzingData:
    """The part of a selection that buzzing is computed from; ``missing`` says why there is none, and so no runs."""

    missing: str | None
    questions: int
    positions: Ints
    clue_table: ClueTable
    runs: tuple[RunBuzzing, ...]


def read_buzzing(snapshot: Snapshot, selection: Selection, rules: Rules) -> BuzzingData:
    """Read the clues, teams and runs of a selection."""
    data, runs = stream_buzzing(snapshot, selection, rules)
    return replace(data, runs=tuple(runs))


def stream_buzzing(snapshot: Snapshot, selection: Selection, rules: Rules) -> tuple[BuzzingData, Iterator[RunBuzzing]]:
    """Read the same as ``read_buzzing``, but yield the runs one by one: those of a large dataset do not fit into memory."""
    selection, _ = restrict(snapshot, selection)
    condition, parameters = selection.question_filter()
    count = snapshot.rows(f"select count(*) from questions q where {condition}", parameters)[0][0]
    kinds = snapshot.rows(
        "select kind, (select max(clues) from questions where dataset = $d) from datasets where dataset = $d",
        {"d": selection.dataset},
    )
    read = [longest for kind, longest in kinds if kind == "incremental" and (longest or 0) > 1]
    missing = None if read and count else NOT_INCREMENTAL if not read else "no questions are selected"
    if missing:
        selection = selection.replace(questions=())
    clue_table, positions = read_clue_table(snapshot, selection)
    runs = _read_runs(snapshot, selection, rules, clue_table, positions)
    return BuzzingData(missing, count, positions, clue_table, ()), runs


def _read_runs(
    snapshot: Snapshot, selection: Selection, rules: Rules, clue_table: ClueTable, positions: Ints
) -> Iterator[RunBuzzing]:
    snapshot = snapshot.with_grading(selection.grading_in_force)
    with_clauses, parameters = selection_clauses(selection)
    # A run of respondents is not a system that buzzes. As a human collection, it provides the people that runs are compared with.
    rows_of_runs = snapshot.rows(
        f"{with_clauses} select run, model, elicitation from chosen_runs where not respondents order by place", parameters
    )
    runs = [Run(*row) for row in rows_of_runs]
    for batch in batches_of_runs(snapshot, selection.dataset, [run.run for run in runs]):
        yield from _read_batch(snapshot, selection, rules, clue_table, positions, [runs[index] for index in batch])


def _read_batch(
    snapshot: Snapshot, selection: Selection, rules: Rules, clue_table: ClueTable, positions: Ints, runs: Sequence[Run]
) -> Iterator[RunBuzzing]:
    names, counted = [run.run for run in runs], BUZZED.including_failed() if selection.failed else BUZZED
    items_of_runs = run_columns.run_items(snapshot, selection.dataset, names, counted)
    if rules.scale == "confidence":
        scores = [run_items.confidence for run_items in items_of_runs]
    else:
        scores = run_columns.run_logprobs(snapshot, selection.dataset, names, counted)
    row_indices = rows_of_questions([run_items.positions for run_items in items_of_runs], positions)
    masks = attribute_masks(snapshot, selection, names, counted.states)
    for run, run_items, score, mask, rows, places in zip(runs, items_of_runs, scores, masks, *row_indices, strict=True):
        check_time_limit()
        items, item_counts = run_items.of_rows(rows)
        question = np.repeat(places, item_counts)
        at = clue_table.first[question] + run_items.clue[items]
        if selection.filters_items:
            selected = clue_table.selected[at] if mask is None else clue_table.selected[at] & mask[items]
            items, question, at = items[selected], question[selected], at[selected]
        if run_items.sample is not None and len(items):
            first = _first_sample(question, run_items.sample[items])
            items, question, at = items[first], question[first], at[first]
        if len(items):
            yield RunBuzzing(run, clue_table, rules, question, at, score[items], run_items.correct[items])


def _first_sample(question: Ints, sample: Ints) -> NDArray[np.bool_]:
    """Return whether each item belongs to the first sample of its question. Questions are ascending; all have shape (items,)."""
    first = np.flatnonzero(np.diff(question, prepend=-1))
    is_first: NDArray[np.bool_] = sample == np.repeat(sample[first], np.diff(np.append(first, len(question))))
    return is_first
