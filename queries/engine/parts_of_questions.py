"""Parts of questions: their first, second, third clues and so on, or the clues that end in each fifth of a question."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.queries.engine import run_columns
from clueline.queries.engine.selected_answers import chosen, clue_mask, written_mask
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.selection import ClueMask, Selection
from clueline.queries.selection.parameter_kinds import format_range

By = Literal["clue", "revealed"]
BY: tuple[By, ...] = get_args(By)
MAX_CLUES = 50  # questions with more clues are divided by the share that is revealed
FIFTHS = 5
EDGES = np.arange(1, FIFTHS) / FIFTHS


class Part(NamedTuple):
    """Some clues of a selection.

    ``number`` counts from 1: that of the clue within its question, or of the fifth. ``value`` is what an answer calls the part:
    that number, or a range of the share of the question that is revealed, whose upper end belongs to it.
    """

    number: int
    value: str
    clues: ClueMask


def offered_parts(longest: int) -> tuple[By, ...]:
    """Return what divides questions of at most so many clues, the default first."""
    return BY if longest <= MAX_CLUES else ("revealed",)


def parts_of_questions(snapshot: Snapshot, selection: Selection, by: By) -> list[Part]:
    """Return the parts that have a clue of a selection, in the order in which they are revealed."""
    clues = _clues(snapshot, selection, by)
    numbers = np.unique(clues.part[clues.kept]).tolist()
    return [Part(number, _value(number, by), clues.mask(number)) for number in numbers]


def in_part(snapshot: Snapshot, selection: Selection, by: By, number: int) -> Selection:
    """Return the same selection of only the clues of a part."""
    return selection.replace(clue_mask=_clues(snapshot, selection, by).mask(number))


class _NumberedClues(NamedTuple):
    """The clues of a dataset: position of the question, number within it from 0, part, and whether it is selected, (clues,)."""

    question: Ints
    within: Ints
    part: Ints
    kept: NDArray[np.bool_]

    def mask(self, part: int) -> ClueMask:
        return written_mask(self.question, self.within, self.kept & (self.part == part))


def _clues(snapshot: Snapshot, selection: Selection, by: By) -> _NumberedClues:
    clues = run_columns.clues(snapshot, selection.dataset)
    question, within = clues.numbered()
    part = within + 1
    if by == "revealed":
        rows = snapshot.frame("select revealed from clues where dataset = $d", {"d": selection.dataset})  # in the table's order
        revealed = run_columns.float_array(rows["revealed"])[clues.order]
        part = np.searchsorted(EDGES, revealed, side="left") + 1
    _, positions = chosen(snapshot, selection)
    kept, masked = np.isin(question, positions), clue_mask(snapshot, selection)
    return _NumberedClues(question, within, part, kept if masked is None else kept & masked)


def _value(number: int, by: By) -> str:
    return str(number) if by == "clue" else format_range(((number - 1) / FIFTHS, number / FIFTHS))
