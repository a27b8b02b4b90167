"""Units of inference: the questions that intervals, tests and bands draw, leave out or flip together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine.bootstrap import cluster_count, question_clusters
from queries.engine.run_columns import sum_by_place
from queries.metrics.kernels.arrays import Floats, Ints
from queries.selection import Selection
from queries.selection.clusters import AGES, QUESTION, YEARS, default_cluster

ONE_QUESTION = "a single question does not show how much the value would vary over others"
ONE_CLUSTER = "its questions are all in one cluster, which does not show how much the value would vary over others"


@dataclass(frozen=True)
class Units:
    """The units of a selection: clusters of questions, or single questions.

    Attributes:
        name: what a unit is, as in ``Selection.cluster``.
        keys: id of each unit, shape (units,): that of a question, or the value that the questions of a cluster share.
        of_questions: unit of each question of the selection, from 0, in the dataset's order, shape (selected,).
    """

    name: str
    keys: NDArray[Any]
    of_questions: Ints

    @classmethod
    def single(cls, questions: NDArray[Any]) -> Units:
        """Return single questions as units.

        Args:
            questions: their ids, shape (selected,).
        """
        return cls(QUESTION, questions, np.arange(len(questions)))

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.keys)

    @property
    def are_questions(self) -> bool:
        """Whether each unit is a single question."""
        return self.name == QUESTION

    @property
    def drawn_from(self) -> int:
        """Number of groups of units from which replicates are drawn; see ``question_clusters``."""
        return cluster_count(self.count)

    @cached_property
    def drawn(self) -> Ints:
        """Group of units with which each question is drawn, shape (selected,)."""
        return question_clusters(self.count)[self.of_questions]

    def sums(self, columns: Floats) -> Floats:
        """Sum columns over the questions of each unit.

        Args:
            columns: shape (selected, k).

        Returns:
            Shape (units, k).
        """
        return columns if self.are_questions else sum_by_place(columns, self.of_questions, self.count)

    def with_one_more(self) -> Units:
        """Return the units with one more question, which is a unit of its own."""
        return Units(self.name, np.append(self.keys, ""), np.append(self.of_questions, self.count))


def too_few_units(units: int, questions: int) -> str | None:
    """Say why so many units, with so many questions, give no intervals, tests and bands; None if they do."""
    return None if units > 1 else ONE_CLUSTER if questions > 1 else ONE_QUESTION


class UnitCounts(msgspec.Struct):
    """How many units a selection has.

    Attributes:
        name: what a unit is, as in ``Selection.cluster``.
        units, questions: number of units, and of the questions that are in them.
    """

    name: str
    units: int
    questions: int


def count_units(snapshot: Snapshot, selection: Selection) -> UnitCounts:
    """Return how many units the questions of a selection are in.

    Args:
        snapshot: the store.
        selection: its filters on questions, and its ``cluster``.
    """
    condition, parameters = selection.question_filter()
    questions = snapshot.frame(f"select question_id from questions q where {condition} order by position", parameters)
    units = read_units(snapshot, selection, questions["question_id"].to_numpy())
    return UnitCounts(units.name, units.count, len(questions))


def read_units_at(snapshot: Snapshot, selection: Selection, positions: Ints) -> Units:
    """Return the units of the questions at some positions of the dataset; see ``read_units``."""
    sql = "select question_id from questions where dataset = $d order by position"
    return read_units(snapshot, selection, snapshot.frame(sql, {"d": selection.dataset})["question_id"].to_numpy()[positions])


def read_units(snapshot: Snapshot, selection: Selection, questions: NDArray[Any]) -> Units:
    """Return the units of a selection. A question without the attribute that names its cluster is a unit of its own.

    Args:
        snapshot: the store.
        selection: its ``cluster`` says what the units are; blank for the default of the dataset.
        questions: ids of the questions of the selection, in the dataset's order, shape (selected,).
    """
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
