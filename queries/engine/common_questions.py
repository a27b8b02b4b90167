"""What the runs of a selection answered, and the selection of what all of them did.

A run must not win by skipping: where runs are ranked, they are measured on the questions that every one of them answered, and
on the clues of these that every one of them answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine import run_columns, selected_statistics
from queries.engine.item_filter import ItemFilter, attribute_masks, clue_mask
from queries.metrics.kernels.arrays import Ints
from queries.selection import ClueMask, Selection

Bools = NDArray[np.bool_]
ROWS_AT_ONCE = 1_000_000  # of statistics, read together
BYTES_OF_ROW = 12  # of the columns that are read
MIN_SHARE = 0.5  # of the clues that any run answered, for a run to take part


class Coverage(msgspec.Struct):
    """How much of a selection its runs answered.

    Attributes:
        questions: number of questions of the selection.
        clues: number of their clues that the selection keeps; a single-shot question has one.
        answered: by run, in order of import, how many of the questions it answered. Runs that answered none are among them.
        answered_clues: by run, how many of the clues.
        common: number of questions of which every run taking part answered the same clue.
        common_clues: number of clues that every run taking part answered.
        apart: runs that take no part, for they answered less than half of the clues that any run answered.
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
        """Runs that take part, in order of import."""
        return [run for run in self.answered if run not in self.apart]

    @property
    def differs(self) -> bool:
        """Whether runs answered different clues, so that it matters which ones count."""
        return any(count != self.common_clues for count in self.answered_clues.values())


def coverage(snapshot: Snapshot, selection: Selection) -> Coverage:
    """How much of a selection its runs answered. A question with any response to a selected clue is answered."""
    return _coverage(*_answers(snapshot, selection))[0]


def restrict(snapshot: Snapshot, selection: Selection, by_default: bool = False) -> tuple[Selection, Coverage | None]:
    """The selection that a view measures: that of the common questions and clues where ``common`` asks for it.

    Args:
        snapshot: of the store.
        selection: of an address.
        by_default: whether a selection that says nothing of ``common`` is restricted.

    Returns:
        The selection of the runs that take part and what all of them answered; the same selection where all answered the same.
        And the coverage of the given selection; None where it is not restricted.
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
    """The selection of the clues that two runs answered, for those pairs that answered different clues of a question.

    Others need none, for runs are paired question by question.

    Args:
        snapshot: of the store.
        selection: whose filters on questions and clues count; those on runs do not.
        pairs: ids of the runs.
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
    """Which clues of a selection were answered by each run.

    Attributes:
        questions: number of questions of the selection, those of which it keeps no clue among them.
        selected: which clues of the dataset are those of the selection, shape (clues,).
        answered: shape (runs, clues); none outside the selection.
        question: position in the dataset of each clue's question, shape (clues,).
        number: of each clue within its question, from 0, shape (clues,).
    """

    questions: int
    selected: Bools
    answered: Bools
    question: Ints
    number: Ints

    def questions_with(self, clues: Bools) -> Bools:
        """Which questions have one of some clues, shape (positions,)."""
        questions = np.zeros(int(self.question.max(initial=-1)) + 1, dtype=bool)
        questions[self.question[clues]] = True
        return questions

    def complete(self) -> bool:
        """Whether every run answered all selected clues of each question that it answered."""
        return all(not (self.questions_with(row)[self.question] & self.selected & ~row).any() for row in self.answered)


def _answers(snapshot: Snapshot, selection: Selection) -> tuple[list[str], _Answers]:
    """The runs of a selection, in order of import, and what they answered."""
    runs, positions = selected_statistics.chosen(snapshot, selection)
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
    """Which clues of a dataset each run answered by responses that the selection keeps, shape (clues,) each."""
    item_filter = ItemFilter.read(snapshot, selection)
    first, clues = run_columns.clues(snapshot, selection.dataset).first, len(run_columns.clues(snapshot, selection.dataset).order)
    for indices in selected_statistics.batches_of_runs(snapshot, selection.dataset, runs):
        names = [runs[index] for index in indices]
        items_of_runs = run_columns.run_items(snapshot, selection.dataset, names, failed=selection.failed)
        masks = attribute_masks(snapshot, selection, names, failed=selection.failed)
        for items, mask in zip(items_of_runs, masks, strict=True):
            at = np.repeat(first[items.positions], np.diff(items.first)) + items.clue
            answered = np.zeros(clues, dtype=bool)
            answered[at[item_filter.kept(mask, np.arange(len(at)), at)]] = True
            yield answered


def _answered_clues(snapshot: Snapshot, dataset: str, runs: Sequence[str], failed: bool) -> list[Bools]:
    """Which clues of a dataset each run answered, shape (clues,) each.

    Most runs answered every clue of a question or none. So items are read only where the stored statistics say otherwise.

    Args:
        snapshot: of the store.
        dataset: id.
        runs: ids.
        failed: whether failed calls are answers.
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
                # The items of a question with several samples may be more than its clues, and still lack one of these.
                if (count != sizes[places]).any() or (failed and not mask.all()):
                    partial.append(run)
        for run, items in zip(partial, run_columns.run_items(snapshot, dataset, partial, failed=failed), strict=True):
            masks[run] = np.zeros(len(question), dtype=bool)
            masks[run][np.repeat(first[items.positions], np.diff(items.first)) + items.clue] = True
        return masks

    return snapshot.cached(dataset, "answered or failed clues" if failed else "answered clues", runs, read) if runs else []


def _coverage(runs: list[str], answers: _Answers) -> tuple[Coverage, Bools]:
    """The coverage, and which clues of the dataset are common."""
    counts = np.array([np.count_nonzero(row) for row in answers.answered], dtype=np.int64)
    any_run, common = np.zeros_like(answers.selected), answers.selected.copy()
    for row in answers.answered:  # one after the other, which needs no copy
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
    """The selection of the questions that have common clues and, of these, the common clues.

    Args:
        selection: the given one.
        answers: of its runs.
        common: which clues are common, shape (clues,).
        runs: indices of those that are measured. Where none of them answered more of the questions, clues need no mask: the
            stored statistics of whole questions will do.
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
