"""The answers of runs on which their gradings differ, in memory: read once per run, then counted for each selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.answer_states import State
from clueline.queries.engine.run_columns import Arrays, ResponseOrder, response_values
from clueline.queries.engine.selected_answers import chosen, item_filters
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.selection import Selection


@dataclass(frozen=True)
class DisputedAnswers(Arrays):
    """The disputed answers of a run, by position of the question, clue, and index among all items of ``run_columns.RunItems``."""

    positions: NDArray[np.int32]
    clues: NDArray[np.int32]
    items: Ints


@once_per_snapshot
def disputed_positions(snapshot: Snapshot, selection: Selection) -> dict[str, Ints]:
    """Return the positions of the questions of disputed answers, ascending, for each run of which several gradings differ."""
    runs, questions = chosen(snapshot, selection)
    several = snapshot.further_grades(runs)
    names = [run for run in runs if run in several]
    if not names:
        return {}
    of_runs = _disputed_answers(snapshot, selection.dataset, names, selection.items.states)
    filters = item_filters(snapshot, selection, names, questions)
    return {
        run: part.positions[item_filter.kept(part.items, part.positions, part.clues)].astype(np.int64)
        for run, part, item_filter in zip(names, of_runs, filters, strict=True)
    }


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

    def convert(order: ResponseOrder, table: pl.DataFrame) -> DisputedAnswers:
        items = np.flatnonzero(table["disputed"].to_numpy()[order.rows])
        positions = np.repeat(order.positions, np.diff(order.first))[items]
        return DisputedAnswers(positions, table["clue"].to_numpy()[order.rows[items]], items)

    grades = {run: " ".join(part.name for part in parts) for run, parts in snapshot.further_grades(runs).items()}
    marked = snapshot.with_disputed_marked()
    return response_values(marked, dataset, runs, "disputed answers", ["clue", "disputed"], convert, states, grades)
