"""Plays of people whose end nobody stated: how many there are, and what values would be without them.

Such a play counts as heard to the end, without a buzz. Whatever rests on people has a second value, by the other plays alone. A
struct of an answer names the values that can have one in ``SECOND``, and the counts of questions that these are over. Its field
``second`` holds those that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from clueline.data.human_curves import UNSTATED_END
from clueline.data.store import Snapshot
from clueline.data.store.snapshot import STATED_ENDS
from clueline.queries.engine.selected_answers import selection_clauses
from clueline.queries.selection import Selection
from clueline.queries.selection.reference_people import count_unstated_ends

A = TypeVar("A")
APART = 0.02  # how far a second value must be from the first to be told


class Plays(msgspec.Struct):
    """The plays of people on some questions. ``unstated`` of them have no buzz, and nobody stated where they ended."""

    plays: int
    unstated: int


def count_plays(snapshot: Snapshot, selection: Selection) -> Plays:
    """Count what human teams heard of the questions of a selection, once for each match."""
    with_clauses, parameters = selection_clauses(selection)
    ((plays, unstated),) = snapshot.rows(
        f"""{with_clauses}
        select count(*), count(*) filter ({UNSTATED_END}) from exposures e join chosen_questions q using (question_id)
        where e.dataset = $dataset and e.team_kind = 'human'""",
        parameters,
    )
    return Plays(plays, unstated)


def with_second_values(snapshot: Snapshot, selection: Selection, answer: A, ask: Callable[[Snapshot, Selection], A]) -> A:
    """Set each ``second`` in an answer, and its ``plays`` where it has this field, if some plays have no stated end.

    ``ask`` computes the same answer from another snapshot, for a selection of the same questions.
    """
    if snapshot.people or not count_unstated_ends(snapshot, selection.dataset):
        return answer
    counts = count_plays(snapshot, selection)
    if not counts.unstated:
        return answer
    if isinstance(answer, msgspec.Struct) and "plays" in answer.__struct_fields__:
        answer.plays = counts  # type: ignore[attr-defined]
    set_second(answer, ask(snapshot.with_people(selection.dataset, STATED_ENDS), _same_questions(snapshot, selection)))
    return answer


def _same_questions(snapshot: Snapshot, selection: Selection) -> Selection:
    """Return a selection that names its questions, if it selects them by a difficulty, which can follow from people."""
    if selection.difficulty is None:
        return selection
    with_clauses, parameters = selection_clauses(selection)
    chosen = snapshot.rows(f"{with_clauses} select question_id from chosen_questions order by place", parameters)
    return selection.replace(difficulty=None, questions=tuple(question for (question,) in chosen))


def set_second(first: object, other: object) -> None:
    """Set each ``second`` in an answer from another one of the same form. Lists of another length are not compared."""
    if isinstance(first, msgspec.Struct) and isinstance(other, type(first)):
        for name in getattr(first, "SECOND", ()):
            value, other_value = getattr(first, name), getattr(other, name)
            pairs = {name: (value, other_value)}
            if isinstance(value, dict):
                pairs = {key: (value[key], other_value.get(key)) for key in value}
            first.second |= {key: second for key, (known, second) in pairs.items() if _apart(known, second)}  # type: ignore[attr-defined]
        for name in first.__struct_fields__:
            set_second(getattr(first, name), getattr(other, name))
    elif isinstance(first, list) and isinstance(other, list) and len(first) == len(other):
        for part, other_part in zip(first, other, strict=True):
            set_second(part, other_part)
    elif isinstance(first, dict) and isinstance(other, dict):
        for key in first.keys() & other.keys():
            set_second(first[key], other[key])


def _apart(first: object, second: object) -> bool:
    """Check whether two values, or any of those of two curves, differ by more than ``APART``, or two counts at all."""
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return any(map(_apart, first, second))
    if isinstance(first, int) and isinstance(second, int):
        return first != second
    return isinstance(first, float) and isinstance(second, float) and abs(first - second) > APART
