"""Single items of runs: guess, confidence and correctness."""

from __future__ import annotations

import msgspec

from data.duckdb_and_polars import first_rows
from data.store import Snapshot
from data.store.answer_states import State
from queries.engine.common_questions import restrict
from queries.engine.stored_or_computed_rows import selected_responses, selection_clauses
from queries.selection import Selection
from queries.selection.parameter_kinds import Range

MAX_ITEMS = 1000


class Item(msgspec.Struct):
    """An answer with a confidence or, if the selection counts them, a failed call; ``off`` is abs(confidence - correct)."""

    run: str
    question_id: str
    clue: int
    sample: str | None  # which of several answers to the clue
    category: str | None
    guess: str | None
    answer: str | None
    confidence: float
    correct: float
    off: float
    failed: bool
    disputed: bool


class ItemList(msgspec.Struct):
    """Answer of ``/api/v1/items``: ``total`` is the number of all items, ``items`` are the first of them, furthest off first."""

    total: int
    items: list[Item]


def items(
    snapshot: Snapshot, selection: Selection, confidence: Range | None = None, limit: int = 100, run: str | None = None
) -> ItemList:
    """Return the items of a selection whose confidence lies in a range, both ends included, furthest off first, at most 1000."""
    counted, _ = restrict(snapshot, selection)
    with_clauses, parameters = selection_clauses(counted)
    states: tuple[State, ...] = ("answered", "failed") if selection.failed else ("answered",)
    responses = selected_responses(snapshot, counted, parameters, states, mark_disputed=True)
    low, high = confidence or (0.0, 1.0)
    rows = snapshot.frame(
        first_rows(
            f"""{with_clauses}
            select p.run, p.question_id, p.clue, p.sample, w.category, p.guess, w.answer, p.confidence, p.correct,
                abs(p.confidence - p.correct) as off, p.failed, p.disputed, q.position as question_position,
                r.position as run_position
            from ({responses}) p join chosen_questions q using (question_id) join chosen_runs r using (run)
            join questions w on w.dataset = $dataset and w.question_id = p.question_id
            where p.confidence between $i_low and $i_high and ($i_run is null or p.run = $i_run)
                {"and not p.disputed" if counted.undisputed else ""}""",
            "off desc, question_position, clue, sample, run_position",
            "$i_limit",
        ),
        parameters | {"i_low": low, "i_high": high, "i_limit": min(limit, MAX_ITEMS), "i_run": run},
    )
    total = int(rows["total"][0]) if len(rows) else 0
    return ItemList(total, [Item(**row) for row in rows.drop("total", "question_position", "run_position").to_dicts()])
