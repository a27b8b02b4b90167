"""Which questions the runs of a selection answered, and the selection of those that all of them did.

A run must not win by skipping: where runs are ranked, they are measured on the questions that every one of them answered.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine import select
from queries.selection import Selection

LEAST_SHARE = 0.5  # of the questions that any run answered, for a run to take part


class Coverage(msgspec.Struct):
    """How many of the questions of a selection its runs answered.

    Attributes:
        questions: number of questions of the selection.
        answered: by run, in order of import, how many of them it answered. Runs that answered none are among them.
        common: number of questions that every run taking part answered.
        apart: runs that take no part, for they answered less than half of the questions that any run answered.
    """

    questions: int
    answered: dict[str, int]
    common: int
    apart: list[str]

    @property
    def taking_part(self) -> list[str]:
        """Runs that take part, in order of import."""
        return [run for run in self.answered if run not in self.apart]

    @property
    def differs(self) -> bool:
        """Whether runs answered different questions, so that it matters which ones count."""
        return any(count != self.common for count in self.answered.values())


def coverage(snapshot: Snapshot, selection: Selection) -> Coverage:
    """How many of the questions of a selection its runs answered. A question with any response to a selected clue is answered."""
    return _coverage(snapshot, selection)[0]


def restrict(snapshot: Snapshot, selection: Selection, by_default: bool = False) -> tuple[Selection, Coverage | None]:
    """The selection that a view measures: that of the common questions where ``common`` asks for it.

    Args:
        snapshot: of the store.
        selection: of an address.
        by_default: whether a selection that says nothing of ``common`` is restricted.

    Returns:
        The selection of the runs that take part and the questions that all of them answered; the same selection where all
        answered the same. And the coverage of the given selection; None where it is not restricted.
    """
    if not (by_default if selection.common is None else selection.common):
        return selection, None
    counts, positions = _coverage(snapshot, selection)
    if not counts.differs:
        return selection, counts
    ((last,),) = snapshot.rows("select max(position) from questions where dataset = $d", {"d": selection.dataset})
    mask = np.zeros(last + 1, dtype=np.uint8)
    mask[positions] = 1
    restricted = selection.replace(question_mask=(mask + ord("0")).tobytes().decode())
    if counts.taking_part:  # no name would mean all runs
        restricted = restricted.on_runs(counts.taking_part)
    return restricted, counts


def _coverage(snapshot: Snapshot, selection: Selection) -> tuple[Coverage, NDArray[np.int64]]:
    """The coverage, and the positions in the dataset of the common questions."""
    runs, positions = select.chosen(snapshot, selection)
    places = select.answered_places(snapshot, selection, runs, positions)
    count = np.zeros(len(positions), dtype=np.int64)
    for answered in places:
        count[answered] += 1
    least = LEAST_SHARE * np.count_nonzero(count)
    apart = [run for run, answered in zip(runs, places, strict=True) if len(answered) < least]
    for run, answered in zip(runs, places, strict=True):
        if run in apart:
            count[answered] -= 1
    taking_part = len(runs) - len(apart)
    in_common = (count == taking_part) & (taking_part > 0)
    return (
        Coverage(
            questions=len(positions),
            answered={run: len(answered) for run, answered in zip(runs, places, strict=True)},
            common=int(np.count_nonzero(in_common)),
            apart=apart,
        ),
        positions[in_common],
    )
