"""Units of inference: the questions that intervals, tests and bands draw, leave out or flip together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.data.store.run_cache import kept_property
from clueline.queries.engine import bootstrap
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.engine.selected_answers import chosen
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import AGES, QUESTION, YEARS, default_cluster

CLUES_OF_QUESTION = "clues of a question"  # what a unit is where rows are clues
ONE_QUESTION = "a single question does not show how much the value would vary over others"
ONE_CLUSTER = "its questions are all in one cluster, which does not show how much the value would vary over others"


@dataclass(frozen=True)
class Units:
    """The units of a selection: clusters of questions, or single questions.

    ``keys``, shape (units,), are ids of questions, or the value that the questions of a cluster share. ``of_questions``, shape
    (selected,), is the unit of each question, from 0.
    """

    name: str
    keys: NDArray[Any]
    of_questions: Ints

    @classmethod
    def single(cls, questions: NDArray[Any]) -> Units:
        """Return single questions, given by their ids, as units."""
        return cls(QUESTION, questions, np.arange(len(questions)))

    @property
    def count(self) -> int:
        return len(self.keys)

    @property
    def are_questions(self) -> bool:
        return self.name == QUESTION

    @property
    def drawn_from(self) -> int:
        """Number of groups of units from which replicates are drawn; see ``question_clusters``."""
        return min(self.count, bootstrap.MAX_CLUSTERS)

    @kept_property
    def drawn(self) -> Ints:
        """Group of units with which each question is drawn, shape (selected,)."""
        return bootstrap.question_clusters(self.count)[self.of_questions]

    def sums(self, columns: Floats) -> Floats:
        """Sum columns of shape (selected, k) over the questions of each unit, shape (units, k)."""
        return columns if self.are_questions else sum_by_place(columns, self.of_questions, self.count)

    def of_parts(self, questions: Ints) -> Units:
        """Return the units of parts of questions, from the index of the question of each part, shape (parts,)."""
        return Units(CLUES_OF_QUESTION if self.are_questions else self.name, self.keys, self.of_questions[questions])

    def with_one_more(self) -> Units:
        """Return the units with one more question, which is a unit of its own."""
        return Units(self.name, np.append(self.keys, ""), np.append(self.of_questions, self.count))


def too_few_units(units: int, questions: int) -> str | None:
    """Say why so many units, with so many questions, give no intervals, tests and bands; None if they do."""
    return None if units > 1 else ONE_CLUSTER if questions > 1 else ONE_QUESTION


class UnitCounts(msgspec.Struct):
    """How many units a selection has; ``name`` is what a unit is, as in ``Selection.cluster``."""

    name: str
    units: int
    questions: int


def count_units(snapshot: Snapshot, selection: Selection) -> UnitCounts:
    """Return how many units the questions of a selection are in."""
    _, positions = chosen(snapshot, selection)
    units = read_units_at(snapshot, selection, positions)
    return UnitCounts(units.name, units.count, len(positions))


def read_units_at(snapshot: Snapshot, selection: Selection, positions: Ints) -> Units:
    """Return the units of the questions at some positions of the dataset."""
    sql = "select question_id from questions where dataset = $d order by position"
    return read_units(snapshot, selection, snapshot.frame(sql, {"d": selection.dataset})["question_id"].to_numpy()[positions])


def read_units(snapshot: Snapshot, selection: Selection, questions: NDArray[Any]) -> Units:
    """Return the units of questions, by ids in the dataset's order; one without the cluster attribute is a unit of its own."""
    name = selection.cluster or default_cluster(snapshot, selection.dataset)
    if name == QUESTION:
        return Units.single(questions)
    sql = "select question_id, value from attributes where dataset = $d and attribute = $name"
    if name == AGES:
        sql = f"select question_id, (minimum_age // {YEARS})::varchar as value from questions where dataset = $d"
    shared = dict(snapshot.frame(sql, {"d": selection.dataset, "name": name}).iter_rows())
    # Marked, because a question can have an id that is also the value of others.
    keys = [f"cluster {shared[question]}" if shared.get(question) else f"question {question}" for question in questions.tolist()]
    units, of_questions = np.unique(np.array(keys, dtype=object), return_inverse=True)
    return Units(name, units, of_questions.astype(np.int64))
