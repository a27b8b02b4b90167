"""The answers of runs on which their gradings differ, in memory: read once per run, then counted for each selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from data.store.answer_states import State
from queries.engine import run_columns
from queries.engine.item_filter import ItemFilter, attribute_masks
from queries.engine.run_columns import cache_name, responses_in_order
from queries.engine.stored_or_computed_rows import chosen
from queries.metrics.kernels.arrays import Ints
from queries.selection import Selection


@dataclass(frozen=True)
class DisputedAnswers:
    """The disputed answers of a run, in the order of ``run_columns.RunItems``; arrays have shape (answers,).

    ``positions`` are those of their questions in the dataset; ``items`` count among all items of the run.
    """

    positions: NDArray[np.int32]
    clues: NDArray[np.int32]
    items: Ints

    @property
    def nbytes(self) -> int:
        return self.positions.nbytes + self.clues.nbytes + self.items.nbytes


def disputed_positions(snapshot: Snapshot, selection: Selection) -> dict[str, Ints]:
    """Return the positions of the questions of disputed answers, ascending, for each run of which several gradings differ."""
    runs, questions = chosen(snapshot, selection)
    names = [run for run in runs if run in snapshot.further_grades(runs)]
    if not names:
        return {}
    of_runs = _disputed_answers(snapshot, selection.dataset, names, selection.items.states)
    masks = attribute_masks(snapshot, selection, names)
    item_filter, first = ItemFilter.read(snapshot, selection), run_columns.clues(snapshot, selection.dataset).first
    selected = np.zeros(max(len(first), questions.max(initial=-1) + 1), dtype=bool)
    selected[questions] = True
    positions = {}
    for run, part, mask in zip(names, of_runs, masks, strict=True):
        kept = selected[part.positions]
        if selection.filters_items:
            kept &= item_filter.kept(mask, part.items, first[part.positions] + part.clues)
        positions[run] = part.positions[kept].astype(np.int64)
    return positions


def disputed_runs(snapshot: Snapshot, selection: Selection) -> dict[str, list[str]]:
    """Return which runs have a disputed answer, by question id; questions without any are left out."""
    positions = disputed_positions(snapshot, selection)
    if not positions:
        return {}
    ids = dict(snapshot.rows("select position, question_id from questions where dataset = $d", {"d": selection.dataset}))
    runs: dict[str, list[str]] = {}
    for run, places in positions.items():
        for place in np.unique(places).tolist():
            runs.setdefault(ids[place], []).append(run)
    return runs


def _disputed_answers(snapshot: Snapshot, dataset: str, runs: Sequence[str], states: tuple[State, ...]) -> list[DisputedAnswers]:
    """Return the disputed answers of each run among those in some states."""
    marked = snapshot.with_disputed_marked()

    def read(missing: list[str]) -> dict[str, DisputedAnswers]:
        disputed = {}
        for run, order, table in responses_in_order(marked, dataset, missing, ["clue", "disputed"], states):
            items = np.flatnonzero(table["disputed"].to_numpy()[order.rows])
            positions = np.repeat(order.positions, np.diff(order.first))[items]
            disputed[run] = DisputedAnswers(positions, table["clue"].to_numpy()[order.rows[items]], items)
        return disputed

    grades = {run: " ".join(part.name for part in parts) for run, parts in snapshot.further_grades(runs).items()}
    return snapshot.cached(dataset, cache_name("disputed answers", states), runs, read, grades)
