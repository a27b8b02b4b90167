"""Which runs of a selection take part in a comparison, and which questions and clues runs answered.

A run must not win by skipping, nor change what others are measured on. A run that skipped little takes part, and is measured on
all that it answered; ``queries.engine.shared_answers`` compares such runs. With ``common``, runs are measured on the questions
and clues that all of them answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.answer_states import NO_CONFIDENCE, State
from clueline.queries.engine import run_columns
from clueline.queries.engine.selected_answers import (
    attribute_masks,
    bits,
    chosen,
    clue_mask,
    counting_what_there_is,
    counts_by_run,
    state_counts,
    written_mask,
)
from clueline.queries.metrics.counted_answers import CONFIDENT
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.selection import ClueMask, Selection

Bools = NDArray[np.bool_]
ROWS_AT_ONCE = 1_000_000  # rows of statistics that are read together
BYTES_OF_ROW = 12  # bytes per row of the columns that are read
HALF = 0.5  # share that counts as most of the runs, of the clues that any run answered, of the expected clues
MIN_SHARE = 0.9  # share of the expected clues that a run must have answered to take part
MAX_FAILED = 0.1  # share of failed calls, or of abstentions, above which they are the reason why a run takes no part
STATES_OF_REASONS: dict[State, str] = {
    "abstained": "answers are abstentions",
    "failed": "calls failed",
    "scored": "answers have a score that is no probability",
}
HEARD_ONLY = "questions were heard without an answer"  # what a failed call is where people are the respondents
MAX_LACKING = 0.1  # share of answers without a confidence above which a run takes no part where a confidence is needed


class Coverage(msgspec.Struct):
    """How much of a selection its runs answered.

    Attributes:
        clues: number of selected clues; a single-shot question has one.
        answered: number of questions that each run answered, by run in order of import, including runs that answered none. Which
            answers count depends on the metrics of the selection (``CountedAnswers.answering``).
        counted_clues: number of clues at which each run has an answer that the metrics count, abstentions included if they do.
        expected_clues: number of clues that a run is expected to answer; see ``taking_part``.
        common: number of questions with a clue that every participating run answered.
        common_clues: number of such clues. Abstentions are among them if the metrics count them.
        differs: whether runs answered different clues, so that it matters which clues count.
        apart: the runs that do not take part, with the reason in words, such as "answered 155 of 300".
        lacking: the runs of which over 10 % of the answers lack a confidence, if the metrics need one.
    """

    questions: int
    clues: int
    answered: dict[str, int]
    answered_clues: dict[str, int]
    counted_clues: dict[str, int]
    expected_clues: int
    common: int
    common_clues: int
    differs: bool
    apart: dict[str, str]
    lacking: list[str]

    @property
    def taking_part(self) -> list[str]:
        """The runs that take part, in order of import."""
        return [run for run in self.answered if run not in self.apart]


@once_per_snapshot
def coverage(snapshot: Snapshot, selection: Selection) -> Coverage:
    """Compute how much of a selection its runs answered. A question counts as answered with a response to any selected clue."""
    return _coverage(snapshot, selection, *_answers(snapshot, selection))[0]


def taking_part(answered: Bools, eligible: Bools | None = None) -> tuple[Bools, Bools]:
    """Return which runs take part in a comparison, and which clues a run is expected to answer.

    A clue is expected if most runs answered it. Runs with less than half of the clues that any run answered have no say in that:
    many small uploads must not change what others are expected to answer. A run takes part if it answered nine tenths of the
    expected clues.

    ``answered`` has shape (runs, clues), runs in order of import. By default, every run is ``eligible``.

    >>> halves = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=bool)
    >>> taking_part(halves)[0].tolist()
    [True, True, False, False]
    """
    counts = np.array([np.count_nonzero(row) for row in answered], dtype=np.int64)
    by_any = np.zeros(answered.shape[1], dtype=bool)
    for row in answered:  # row by row, which needs no copy
        by_any |= row
    have_say = (counts > 0) & (counts >= HALF * np.count_nonzero(by_any))
    if not have_say.any():
        have_say = counts > 0
    expected = by_any & (_runs_of_clues(answered, have_say) >= HALF * np.count_nonzero(have_say))
    size = np.count_nonzero(expected)
    part = np.array([np.count_nonzero(row & expected) >= MIN_SHARE * size for row in answered], dtype=bool) & (counts > 0)
    if eligible is not None:
        part &= eligible
    return part, expected


def _runs_of_clues(answered: Bools, runs: Bools) -> Ints:
    counts = np.zeros(answered.shape[1], dtype=np.int64)
    for index in np.flatnonzero(runs):
        counts += answered[index]
    return counts


class Comparable(NamedTuple):
    """What a view measures of a selection.

    Attributes:
        selection: the participating runs and, with ``common``, only the questions and clues that all of these answered. It is the
            given selection if all of its runs answered the same, or none takes part because confidences lack.
        coverage: that of the given selection; None if each run is to be measured on its own.
        unshared: what the runs were expected to answer, where some of them did not; None where all answered the same.
    """

    selection: Selection
    coverage: Coverage | None = None
    unshared: Expected | None = None


class Expected(NamedTuple):
    """What the runs of a selection are expected to answer.

    ``clues``, shape (clues,), says so of each clue of the dataset, ``questions`` of each question by position. Where runs
    answered different clues of a question, ``mask`` selects the expected clues, and ``complete`` says of each run at which
    questions, by position, it answered all of them; both are None if they did not.
    """

    clues: Bools
    questions: Bools
    mask: ClueMask | None = None
    complete: dict[str, Bools] | None = None


@once_per_snapshot
def comparable(snapshot: Snapshot, selection: Selection) -> Comparable:
    """Return what a view measures of a selection in which runs are compared.

    ``common`` is ``None`` for the runs that take part, each on all that it answered; see ``taking_part``.
    """
    if selection.common is False:
        return Comparable(selection)
    runs, answers = _answers(snapshot, selection)
    counts, common, expected = _coverage(snapshot, selection, runs, answers)
    if not counts.differs or (counts.lacking and not counts.taking_part):
        return Comparable(selection, counts)
    part = [runs.index(run) for run in counts.taking_part]
    of_runs = selection.on_runs(counts.taking_part) if part else selection  # no name would mean all runs
    if selection.common or not part:
        return Comparable(_masked(of_runs, answers, common, part), counts)
    rows = answers.answered[part]
    if (rows == rows[0]).all():
        return Comparable(of_runs, counts)
    unshared = Expected(expected, answers.questions_with(expected))
    if not answers.whole(rows, np.asarray(rows.any(axis=0))):
        complete = [answers.questions_with(row) & ~answers.questions_with(expected & ~row) for row in rows]
        of_run = dict(zip(counts.taking_part, complete, strict=True))
        unshared = unshared._replace(mask=_clue_mask(answers, expected), complete=of_run)
    return Comparable(of_runs, counts, unshared)


def shared_selections(
    snapshot: Snapshot, selection: Selection, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Selection]:
    """Return, for each pair of runs that answered different clues of a question, the selection of the clues both answered.

    Other pairs need none, because runs are paired question by question.
    """
    names = list(dict.fromkeys(run for pair in pairs for run in pair))
    runs, answers = _answers(snapshot, selection.on_runs(names))
    if not pairs or answers.whole(answers.answered, answers.selected):
        return {}
    index = {run: place for place, run in enumerate(runs)}
    results = {}
    for a, b in pairs:
        if a not in index or b not in index:
            continue
        answered_a, answered_b = answers.answered[[index[a], index[b]]]
        both_questions = answers.questions_with(answered_a) & answers.questions_with(answered_b)
        if ((answered_a != answered_b) & both_questions[answers.question]).any():
            results[a, b] = selection.replace(clue_mask=_clue_mask(answers, answered_a & answered_b))
    return results


class _Answers(NamedTuple):
    """Which clues of a selection each run answered with an answer that counts.

    ``answered``, shape (runs, clues), is False outside the selection. Abstentions count if the metrics of the selection count
    them; in ``answering``, they never do. ``selected``, ``question`` and ``number``, shape (clues,), say whether each clue of the
    dataset is selected, the position of its question and its number within it, from 0.
    """

    questions: int
    selected: Bools
    answered: Bools
    answering: Bools
    question: Ints
    number: Ints

    def questions_with(self, clues: Bools) -> Bools:
        """Return which questions have at least one of some clues, by position in the dataset, shape (positions,)."""
        questions = np.zeros(int(self.question.max(initial=-1)) + 1, dtype=bool)
        questions[self.question[clues]] = True
        return questions

    def whole(self, rows: Bools, clues: Bools) -> bool:
        """Check whether each run, given by what it answered, answered all of some clues of each question, or none."""
        return all(not (self.questions_with(row)[self.question] & clues & ~row).any() for row in rows)


def _answers(snapshot: Snapshot, selection: Selection) -> tuple[list[str], _Answers]:
    """Return the runs of a selection, in order of import, and what they answered."""
    selection = counting_what_there_is(snapshot, selection)
    runs, positions = chosen(snapshot, selection)
    question, number = run_columns.clues(snapshot, selection.dataset).numbered()
    has_place = np.zeros(max(question.max(initial=-1), positions.max(initial=-1)) + 1, dtype=bool)
    has_place[positions] = True
    selected = has_place[question]
    kept = clue_mask(snapshot, selection)
    if kept is not None:
        selected &= kept

    def answered(states: tuple[State, ...]) -> Bools:
        rows = np.zeros((len(runs), len(question)), dtype=bool)
        masks = (
            _clues_with_attributes(snapshot, selection, runs, states)
            if selection.filters_responses
            else _answered_clues(snapshot, selection.dataset, runs, states)
        )
        for row, mask in zip(rows, masks, strict=True):
            np.logical_and(mask, selected, out=row)
        return rows

    shared = answered(selection.items.shared)
    same = selection.items.shared == selection.items.answering
    answering = shared if same else answered(selection.items.answering)
    return runs, _Answers(len(positions), selected, shared, answering, question, number)


def _clues_with_attributes(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], states: tuple[State, ...]
) -> Iterator[Bools]:
    """Yield which clues of a dataset each run answered with responses that have a selection's attributes, shape (clues,)."""
    for indices in run_columns.batches_of_runs(snapshot, selection.dataset, runs):
        names = [runs[index] for index in indices]
        masks = attribute_masks(snapshot, selection, names, states)
        yield from _clues_of_items(snapshot, selection.dataset, names, states, masks)


def _clues_of_items(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], states: tuple[State, ...], masks: Iterable[Bools | None]
) -> Iterator[Bools]:
    """Yield which clues of a dataset the items of each run are at, of those for which its mask is true, shape (clues,)."""
    clues, counted = run_columns.clues(snapshot, dataset), msgspec.structs.replace(CONFIDENT, states=states)
    for items, mask in zip(run_columns.run_items(snapshot, dataset, runs, counted), masks, strict=False):
        at = np.repeat(clues.first[items.positions], np.diff(items.first)) + items.clue
        answered = np.zeros(len(clues.order), dtype=bool)
        answered[at if mask is None else at[mask]] = True
        yield answered


def _answered_clues(snapshot: Snapshot, dataset: str, runs: Sequence[str], states: tuple[State, ...]) -> list[Bools]:
    """Return which clues each run answered with a response in some states, shape (clues,) each.

    Most runs answered every clue of a question or none, so items are read only if the stored statistics say otherwise.
    """

    def read(missing: list[str]) -> dict[str, Bools]:
        question, _ = run_columns.clues(snapshot, dataset).numbered()
        sizes = np.bincount(question)
        source = snapshot.for_reading(BYTES_OF_ROW * len(sizes) * len(missing))
        masks, partial = {}, []
        every_clue = np.ones(len(question), dtype=bool)  # the same array for all runs that answered everything
        at_once = max(1, ROWS_AT_ONCE // max(len(sizes), 1))
        for names in (missing[start : start + at_once] for start in range(0, len(missing), at_once)):
            positions = run_columns.row_positions(source, dataset, names)
            counts = run_columns.statistic_columns(source, dataset, names, ["items"])["items"]
            for run, places, count in zip(names, positions, counts, strict=True):
                answered = np.zeros(len(sizes), dtype=bool)
                answered[places] = True
                mask = answered[question]
                masks[run] = every_clue if mask.all() else mask
                # A question with several samples can have more items than clues and still lack one of the clues.
                if (count != sizes[places]).any() or (states != CONFIDENT.states and not mask.all()):
                    partial.append(run)
        of_items = _clues_of_items(snapshot, dataset, partial, states, repeat(None))
        return masks | dict(zip(partial, of_items, strict=True))

    return snapshot.cached(dataset, run_columns.cache_name("answered clues", states), runs, read) if runs else []


def _coverage(snapshot: Snapshot, selection: Selection, runs: list[str], answers: _Answers) -> tuple[Coverage, Bools, Bools]:
    """Compute the coverage, and which clues of the dataset are common and which are expected, shape (clues,) each."""
    counts = [np.count_nonzero(row) for row in answers.answering]
    lacking = _lacking(snapshot, selection) if selection.items.need_confidence else {}
    part, expected = taking_part(answers.answering, np.array([run not in lacking for run in runs], dtype=bool))
    if selection.common == "all":
        part = np.array(counts, dtype=np.int64) > 0
    common = answers.selected & part.any()
    for index in np.flatnonzero(part):
        common &= answers.answered[index]
    selected, with_selected = np.count_nonzero(answers.selected), int(answers.questions_with(answers.selected).sum())
    answered_questions = [
        with_selected if count == selected else int(answers.questions_with(row).sum())
        for row, count in zip(answers.answering, counts, strict=True)
    ]
    apart = {
        run: int(np.count_nonzero(row & expected))
        for run, row, takes in zip(runs, answers.answering, part, strict=True)
        if not takes
    }
    common_clues = int(common.sum())
    return (
        Coverage(
            questions=answers.questions,
            clues=int(selected),
            answered=dict(zip(runs, answered_questions, strict=True)),
            answered_clues=dict(zip(runs, map(int, counts), strict=True)),
            counted_clues={run: int(np.count_nonzero(row)) for run, row in zip(runs, answers.answered, strict=True)},
            expected_clues=int(np.count_nonzero(expected)),
            common=int(answers.questions_with(common).sum()),
            common_clues=common_clues,
            differs=any(np.count_nonzero(row) != common_clues for row in answers.answered),
            apart=_reasons(snapshot, selection, apart, int(np.count_nonzero(expected)))
            | {run: reason for run, reason in lacking.items() if run in apart},
            lacking=[*lacking],
        ),
        common,
        expected,
    )


def _lacking(snapshot: Snapshot, selection: Selection) -> dict[str, str]:
    """Return the runs of which over 10 % of the answers have no confidence, with that as the reason why they take no part."""
    shares = {}
    for run, states in counts_by_run(state_counts(snapshot, selection)).items():
        lacking = sum(states[state] for state in NO_CONFIDENCE)
        shares[run] = lacking / max(lacking + states["answered"] + states["scored"], 1)
    return {run: f"{100 * share:.0f} % of answers lack a confidence" for run, share in shares.items() if share > MAX_LACKING}


def _reasons(snapshot: Snapshot, selection: Selection, apart: dict[str, int], expected: int) -> dict[str, str]:
    """Say why runs take no part, from the number of expected clues that each answered."""
    if not apart:
        return {}
    other = counts_by_run(state_counts(snapshot, selection))
    people = {
        run for (run,) in snapshot.rows("select run from runs where dataset = $d and respondents", {"d": selection.dataset})
    }
    reasons = {}
    for run, answered in apart.items():
        reasons[run] = f"answered {answered:,} of {expected:,}"
        for state, share_of in STATES_OF_REASONS.items():
            rows = 0 if state in selection.items.answering else other.get(run, {}).get(state, 0)
            if rows and rows / (rows + answered) > MAX_FAILED:
                unanswered = HEARD_ONLY if run in people and state == "failed" else share_of
                reasons[run] = f"{100 * rows / (rows + answered):.0f} % of {unanswered}"
    return reasons


def _masked(selection: Selection, answers: _Answers, common: Bools, runs: Sequence[int]) -> Selection:
    """Restrict a selection to its common clues and the questions that have any.

    No clue mask is needed if none of the measured ``runs`` answered further clues: then the stored statistics can be used.
    """
    questions = answers.questions_with(common)
    restricted = selection.replace(question_mask=bits(questions))
    if (answers.answered[list(runs)] & questions[answers.question] & ~common).any():
        restricted = restricted.replace(clue_mask=_clue_mask(answers, common))
    return restricted


def _clue_mask(answers: _Answers, clues: Bools) -> ClueMask:
    return written_mask(answers.question, answers.number, clues)
