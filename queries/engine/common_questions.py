"""Which questions and clues the runs of a selection answered, and the selection of those that all of them answered.

A run must not win by skipping. Where runs are ranked, they are measured only on the questions, and the clues of these questions,
that every one of them answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine import run_columns, stored_or_computed_rows
from queries.engine.item_filter import ItemFilter, attribute_masks, clue_mask
from queries.metrics.kernels.arrays import Ints
from queries.selection import ClueMask, Selection

Bools = NDArray[np.bool_]
ROWS_AT_ONCE = 1_000_000  # rows of statistics that are read together
BYTES_OF_ROW = 12  # bytes per row of the columns that are read
MIN_SHARE = 0.5  # share of the clues answered by any run that a run must have answered to take part


class Coverage(msgspec.Struct):
    """How much of a selection its runs answered.

    Attributes:
        questions: number of questions of the selection.
        clues: number of clues of these questions that the selection keeps; a single-shot question has one.
        answered: number of questions that each run answered, by run in order of import, including runs that answered none.
        answered_clues: number of clues that each run answered.
        common: number of questions with at least one clue that every participating run answered.
        common_clues: number of clues that every participating run answered.
        apart: runs that do not take part, because they answered less than half of the clues that any run answered.
    """

    questions: int
    clues: int
    answered: dict[str, int]
    answered_clues: dict[str, int]
    common: int
    common_clues: int
    apart: list[str]

    @property
    def taking_part(self) -> list[str]:
        """The runs that take part, in order of import."""
        return [run for run in self.answered if run not in self.apart]

    @property
    def differs(self) -> bool:
        """Whether runs answered different clues, so that it matters which clues count."""
        return any(count != self.common_clues for count in self.answered_clues.values())


def coverage(snapshot: Snapshot, selection: Selection) -> Coverage:
    """Compute how much of a selection its runs answered. A question counts as answered with a response to any selected clue."""
    return _coverage(*_answers(snapshot, selection))[0]


def restrict(snapshot: Snapshot, selection: Selection, by_default: bool = False) -> tuple[Selection, Coverage | None]:
    """Return the selection that a view measures, restricted to common questions and clues if ``common`` asks for it.

    Args:
        snapshot: the store.
        selection: selection of an address.
        by_default: whether to restrict a selection that does not specify ``common``.

    Returns:
        The selection of the participating runs and of what all of them answered, or the given selection if all runs answered the
        same; and the coverage of the given selection, None if ``common`` does not apply.
    """
    if not (by_default if selection.common is None else selection.common):
        return selection, None
    runs, answers = _answers(snapshot, selection)
    counts, common = _coverage(runs, answers)
    if not counts.differs:
        return selection, counts
    restricted = _masked(selection, answers, common, [runs.index(run) for run in counts.taking_part])
    if counts.taking_part:  # no name would mean all runs
        restricted = restricted.on_runs(counts.taking_part)
    return restricted, counts


def shared_selections(
    snapshot: Snapshot, selection: Selection, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Selection]:
    """Return, for each pair of runs that answered different clues of a question, the selection of the clues both answered.

    Other pairs need no such selection, because runs are paired question by question.

    Args:
        snapshot: the store.
        selection: its filters apply, except those on runs.
        pairs: pairs of run ids.
    """
    names = list(dict.fromkeys(run for pair in pairs for run in pair))
    runs, answers = _answers(snapshot, selection.on_runs(names))
    if not pairs or answers.complete():
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
    """Which clues of a selection each run answered.

    Attributes:
        questions: number of questions of the selection, including those without a selected clue.
        selected: whether each clue of the dataset is in the selection, shape (clues,).
        answered: whether each run answered each clue, shape (runs, clues); False outside the selection.
        question: position in the dataset of each clue's question, shape (clues,).
        number: number of each clue within its question, from 0, shape (clues,).
    """

    questions: int
    selected: Bools
    answered: Bools
    question: Ints
    number: Ints

    def questions_with(self, clues: Bools) -> Bools:
        """Return which questions have at least one of some clues.

        Args:
            clues: whether each clue counts, shape (clues,).

        Returns:
            True or False by position in the dataset, shape (positions,).
        """
        questions = np.zeros(int(self.question.max(initial=-1)) + 1, dtype=bool)
        questions[self.question[clues]] = True
        return questions

    def complete(self) -> bool:
        """Check whether every run answered all selected clues of each question that it answered."""
        return all(not (self.questions_with(row)[self.question] & self.selected & ~row).any() for row in self.answered)


def _answers(snapshot: Snapshot, selection: Selection) -> tuple[list[str], _Answers]:
    """Return the runs of a selection, in order of import, and what they answered."""
    runs, positions = stored_or_computed_rows.chosen(snapshot, selection)
    question, number = run_columns.clues(snapshot, selection.dataset).numbered()
    chosen = np.zeros(max(question.max(initial=-1), positions.max(initial=-1)) + 1, dtype=bool)
    chosen[positions] = True
    selected = chosen[question]
    kept = clue_mask(snapshot, selection)
    if kept is not None:
        selected &= kept
    answered = np.zeros((len(runs), len(question)), dtype=bool)
    masks = (
        _clues_with_attributes(snapshot, selection, runs)
        if selection.filters_responses
        else _answered_clues(snapshot, selection.dataset, runs, selection.failed)
    )
    for row, mask in zip(answered, masks, strict=True):
        np.logical_and(mask, selected, out=row)
    return runs, _Answers(len(positions), selected, answered, question, number)


def _clues_with_attributes(snapshot: Snapshot, selection: Selection, runs: Sequence[str]) -> Iterator[Bools]:
    """Yield which clues of a dataset each run answered with responses that the selection keeps, shape (clues,) each."""
    item_filter = ItemFilter.read(snapshot, selection)
    first, clues = run_columns.clues(snapshot, selection.dataset).first, len(run_columns.clues(snapshot, selection.dataset).order)
    for indices in stored_or_computed_rows.batches_of_runs(snapshot, selection.dataset, runs):
        names = [runs[index] for index in indices]
        items_of_runs = run_columns.run_items(snapshot, selection.dataset, names, failed=selection.failed)
        masks = attribute_masks(snapshot, selection, names, failed=selection.failed)
        for items, mask in zip(items_of_runs, masks, strict=True):
            at = np.repeat(first[items.positions], np.diff(items.first)) + items.clue
            answered = np.zeros(clues, dtype=bool)
            answered[at[item_filter.kept(mask, np.arange(len(at)), at)]] = True
            yield answered


def _answered_clues(snapshot: Snapshot, dataset: str, runs: Sequence[str], failed: bool) -> list[Bools]:
    """Return which clues of a dataset each run answered.

    Most runs answered every clue of a question or none. Items are therefore read only if the stored statistics say otherwise.

    Args:
        snapshot: the store.
        dataset: id of the dataset.
        runs: ids of the runs.
        failed: whether failed calls count as answers.

    Returns:
        For each run, True or False by clue, shape (clues,).
    """

    def read(missing: list[str]) -> dict[str, Bools]:
        first = run_columns.clues(snapshot, dataset).first
        question, _ = run_columns.clues(snapshot, dataset).numbered()
        sizes = np.bincount(question, minlength=len(first))
        source = snapshot.for_reading(BYTES_OF_ROW * len(first) * len(missing))
        masks, partial = {}, []
        every_clue = np.ones(len(question), dtype=bool)  # the same array for all runs that answered everything
        at_once = max(1, ROWS_AT_ONCE // max(len(first), 1))
        for runs_read in (missing[start : start + at_once] for start in range(0, len(missing), at_once)):
            positions = run_columns.row_positions(source, dataset, runs_read)
            counts = run_columns.statistic_columns(source, dataset, runs_read, ["items"])["items"]
            for run, places, count in zip(runs_read, positions, counts, strict=True):
                answered = np.zeros(len(first), dtype=bool)
                answered[places] = True
                mask = answered[question]
                masks[run] = every_clue if mask.all() else mask
                # A question with several samples can have more items than clues and still lack one of the clues.
                if (count != sizes[places]).any() or (failed and not mask.all()):
                    partial.append(run)
        for run, items in zip(partial, run_columns.run_items(snapshot, dataset, partial, failed=failed), strict=True):
            masks[run] = np.zeros(len(question), dtype=bool)
            masks[run][np.repeat(first[items.positions], np.diff(items.first)) + items.clue] = True
        return masks

    return snapshot.cached(dataset, "answered or failed clues" if failed else "answered clues", runs, read) if runs else []


def _coverage(runs: list[str], answers: _Answers) -> tuple[Coverage, Bools]:
    """Compute the coverage, and which clues of the dataset are common, shape (clues,)."""
    counts = np.array([np.count_nonzero(row) for row in answers.answered], dtype=np.int64)
    any_run, common = np.zeros_like(answers.selected), answers.selected.copy()
    for row in answers.answered:  # row by row, which needs no copy
        any_run |= row
    taking_part = counts >= MIN_SHARE * np.count_nonzero(any_run)
    for index in np.flatnonzero(taking_part):
        common &= answers.answered[index]
    if not taking_part.any():
        common[:] = False
    selected, with_selected = np.count_nonzero(answers.selected), int(answers.questions_with(answers.selected).sum())
    answered_questions = [
        with_selected if count == selected else int(answers.questions_with(row).sum())
        for row, count in zip(answers.answered, counts.tolist(), strict=True)
    ]
    return (
        Coverage(
            questions=answers.questions,
            clues=int(answers.selected.sum()),
            answered=dict(zip(runs, answered_questions, strict=True)),
            answered_clues=dict(zip(runs, counts.tolist(), strict=True)),
            common=int(answers.questions_with(common).sum()),
            common_clues=int(common.sum()),
            apart=[run for run, part in zip(runs, taking_part.tolist(), strict=True) if not part],
        ),
        common,
    )


def _masked(selection: Selection, answers: _Answers, common: Bools, runs: Sequence[int]) -> Selection:
    """Restrict a selection to its common clues and the questions that have any.

    Args:
        selection: the selection.
        answers: what its runs answered.
        common: whether each clue is common, shape (clues,).
        runs: indices of the measured runs. If none of them answered further clues of these questions, no clue mask is needed and
            the stored statistics of whole questions can be used.
    """
    questions = answers.questions_with(common)
    restricted = selection.replace(question_mask=_bits(questions))
    if (answers.answered[list(runs)] & questions[answers.question] & ~common).any():
        restricted = restricted.replace(clue_mask=_clue_mask(answers, common))
    return restricted


def _clue_mask(answers: _Answers, clues: Bools) -> ClueMask:
    width = int(answers.number.max(initial=-1)) + 1
    mask = np.zeros((int(answers.question.max(initial=-1)) + 1, width), dtype=bool)
    mask[answers.question[clues], answers.number[clues]] = True
    return ClueMask(width, _bits(mask.ravel()))


def _bits(mask: Bools) -> str:
    return (mask.astype(np.uint8) + ord("0")).tobytes().decode()
