"""Correct and incorrect buzzes by category: of people, of models that played as teams, and of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import polars as pl

from data.store import Snapshot
from queries.buzzing.inputs import BuzzingData, read_buzzing
from queries.buzzing.parameters import Rules
from queries.metrics.kernels.arrays import Floats, Ints
from queries.selection import Answer, Selection, head


class CategoryOutcome(msgspec.Struct):
    """The buzzes of one group in one category; None is no category, and the ratio without an incorrect buzz.

    Questions heard are counted once for each team and room; those of a run are the ones that it answered.
    """

    category: str | None
    heard: int
    correct: int
    incorrect: int
    ratio: float | None


class BuzzOutcomes(msgspec.Struct):
    """One group: ``people``, a model that played as a team, or a run. Categories in which nothing was heard are left out."""

    name: str
    kind: str
    threshold: float | None
    categories: list[CategoryOutcome]


class CategoryOutcomes(Answer):
    """Answer of ``/api/v1/buzz/categories``; ``missing`` says why it is empty."""

    missing: str | None
    categories: list[str | None]
    groups: list[BuzzOutcomes]


def category_outcomes(snapshot: Snapshot, selection: Selection, rules: Rules) -> CategoryOutcomes:
    """Count correct (correctness of at least 0.5) and incorrect buzzes by category. Runs without a threshold are left out."""
    data = read_buzzing(snapshot, selection, rules)
    answer = CategoryOutcomes(*head(snapshot, selection), data.missing, [], [])
    if data.missing:
        return answer
    answer.categories, places = question_categories(snapshot, selection, data.positions)
    answer.groups = list(_groups(data, places, answer.categories))
    return answer


def question_categories(snapshot: Snapshot, selection: Selection, positions: Ints) -> tuple[list[str | None], Ints]:
    """Return the categories of questions at some positions, sorted, None last, and the number of each question's category."""
    facts = snapshot.frame("select position, category from questions where dataset = $dataset", {"dataset": selection.dataset})
    of_position: dict[int, str | None] = dict(facts.iter_rows())
    category = [of_position[position] for position in positions.tolist()]
    names = sorted(set(category), key=lambda name: (name is None, name or ""))
    number = {name: index for index, name in enumerate(names)}
    return names, np.array([number[name] for name in category], dtype=np.int64)


def _groups(data: BuzzingData, places: Ints, names: Sequence[str | None]) -> Iterator[BuzzOutcomes]:
    for name, kind, rows in data.clue_table.groups():
        if rows.is_empty():
            continue
        buzzes = rows.filter(pl.col("word").is_not_null())
        right = buzzes["correct"].to_numpy().astype(float)
        heard, at = places[rows["question"].to_numpy()], places[buzzes["question"].to_numpy()]
        yield BuzzOutcomes(name, kind, None, _outcomes(names, heard, at, right))
    for player in data.runs:
        if player.buzzes is None:
            continue
        right = (player.correct[player.buzzes] >= 0.5).astype(float)
        outcomes = _outcomes(names, places[player.questions], places[player.question[player.buzzes]], right)
        yield BuzzOutcomes(player.run.run, "run", player.threshold, outcomes)


def _outcomes(names: Sequence[str | None], heard: Ints, at: Ints, right: Floats) -> list[CategoryOutcome]:
    """Count by category, from the numbers of the categories of questions heard and of buzzes."""
    counts = [np.bincount(cells, weights, len(names)) for cells, weights in ((heard, None), (at, right), (at, 1 - right))]
    return [
        CategoryOutcome(name, int(total), int(correct), int(incorrect), float(correct / incorrect) if incorrect else None)
        for name, total, correct, incorrect in zip(names, *counts, strict=True)
        if total
    ]
