"""The items of runs that a selection keeps: those at its clues and with its attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.duckdb_and_polars import literal
from data.store import Snapshot
from data.store.answer_states import State
from queries.engine import run_columns
from queries.metrics.kernels.arrays import Ints
from queries.selection import Selection

Bools = NDArray[np.bool_]


class ItemFilter(NamedTuple):
    """The clues of the dataset that a selection keeps, shape (clues,), None if all; combined with its filter on responses."""

    clues: Bools | None

    @classmethod
    def read(cls, snapshot: Snapshot, selection: Selection) -> ItemFilter:
        return cls(clue_mask(snapshot, selection))

    def kept(self, mask: Bools | None, items: Ints, clues: Ints) -> Bools:
        """Return which items of a run are kept, given their indices in the run, those of their clues and the run's mask."""
        kept = np.ones(len(items), dtype=bool) if mask is None else mask[items]
        return kept if self.clues is None else kept & self.clues[clues]


def clue_mask(snapshot: Snapshot, selection: Selection) -> Bools | None:
    """Return which clues of the dataset a selection keeps, whatever their question, shape (clues,); None if it keeps all."""
    if not selection.filters_clues:
        return None
    # The selection's clue mask is applied here: as an SQL condition it would be a join, which need not keep the table's order.
    condition = selection.replace(clue_mask=None).clue_filter()
    kept = run_columns.clue_mask(snapshot, selection.dataset, *condition)
    if selection.clue_mask is not None:
        clues = run_columns.clues(snapshot, selection.dataset)
        positions, numbers = clues.numbered()
        bits = np.frombuffer(selection.clue_mask.bits.encode(), np.uint8) == ord("1")
        kept = kept & bits[positions * selection.clue_mask.width + numbers]
    return kept


def attribute_masks(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], states: tuple[State, ...] | None = None
) -> list[Bools | None]:
    """Return whether each item of each run, as in ``run_items``, has a selection's attributes; None if it asks for none."""
    states = states or selection.items.states
    masks: list[Bools | None] = [None] * len(runs)
    for name, values in selection.attr:
        if name in selection.response_attributes:
            columns = attribute_columns(snapshot, selection.dataset, runs, name, states)
            met = [column.among(values) for column in columns]
            masks = [new if mask is None else mask & new for mask, new in zip(masks, met, strict=True)]
    return masks


@dataclass(frozen=True)
class AttributeColumn:
    """One attribute of the items of a run: its distinct values, "" for none, and the index of each item's value."""

    values: tuple[str, ...]
    codes: NDArray[np.unsignedinteger[Any]]

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + sum(map(len, self.values))

    def among(self, values: Collection[str]) -> NDArray[np.bool_]:
        """Return whether the value of each item is among ``values``, shape (items,)."""
        chosen: NDArray[np.bool_] = np.array([value in values for value in self.values], dtype=bool)
        return chosen[self.codes] if len(self.codes) else np.zeros(0, dtype=bool)


def attribute_columns(
    snapshot: Snapshot, dataset: str, runs: Sequence[str], name: str, states: tuple[State, ...]
) -> list[AttributeColumn]:
    """Read an attribute, which should have few distinct values, of the items of each run."""

    def read(missing: list[str]) -> dict[str, AttributeColumn]:
        sql = f"coalesce(attributes[{literal(name)}], '') as value"
        columns = {}
        for run, order, table in run_columns.responses_in_order(snapshot, dataset, missing, [sql], states):
            texts = table["value"].gather(order.rows)
            values = texts.unique().sort()
            columns[run] = AttributeColumn(tuple(values), texts.cast(pl.Enum(values)).to_physical().to_numpy())
        return columns

    return snapshot.cached(dataset, run_columns.cache_name(f"attribute {name}", states), runs, read)
