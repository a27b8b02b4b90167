"""Rows of statistics of a selection: of whole questions from what is held in memory, of parts of them computed anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.statistics import BIN_COLUMNS, BINS_USED, select_sql
from data.store.generations import Snapshot
from queries.engine import run_columns
from queries.engine.run_columns import Bins, Placement, joined, numbers
from queries.metrics.kernels.arrays import Floats, Ints
from queries.selection import Selection


@dataclass(frozen=True)
class Rows:
    """Statistics by run and, within one, by question.

    Attributes:
        run, places: places of each row's run and question among those chosen, shape (rows,).
        sums: the statistics, each of shape (rows,).
        bins: those of bins of confidence; None if not asked for.
        pairs: confidence and correctness of the items, in the order of rows and clues, shape (items,); None if not asked for.
    """

    run: Ints
    places: Ints
    sums: dict[str, Floats]
    bins: Bins | None
    pairs: tuple[Floats, Floats] | None


def kept(snapshot: Snapshot, dataset: str, runs: pl.DataFrame, questions: pl.DataFrame, reads: Set[str], pairs: bool) -> Rows:
    """Rows of whole questions, by the statistics kept at ingest.

    Args:
        snapshot: the store.
        dataset: where they are.
        runs, questions: what is chosen, by ``run`` and by ascending ``position``.
        reads: which statistics.
        pairs: whether items are asked for.
    """
    names = runs["run"].to_list()
    rows, places = taken(run_columns.placements(snapshot, dataset, names), questions["position"].to_numpy())

    def of(parts: Iterable[NDArray[Any]], chosen: Iterable[Ints] = rows) -> Floats:
        each = zip(parts, chosen, strict=True)
        return joined([part if len(part) == len(some) else part[some] for part, some in each], float)

    bins = run_columns.bins(snapshot, dataset, names) if reads & {*BIN_COLUMNS} else None
    said = run_columns.items(snapshot, dataset, names) if pairs else []
    items = [part.of(some)[0] for part, some in zip(said, rows, strict=False)]
    return Rows(
        run=np.repeat(np.arange(len(names)), np.array([len(part) for part in rows], dtype=np.int64)),
        places=joined(places, np.int64),
        sums={name: of(run_columns.column(snapshot, dataset, names, name)) for name in reads - {*BIN_COLUMNS}},
        bins=None if bins is None else Bins.joined([part.take(some) for part, some in zip(bins, rows, strict=True)]),
        pairs=(of((part.confidence for part in said), items), of((part.correct for part in said), items)) if pairs else None,
    )


def taken(placements: Sequence[Placement], questions: Ints) -> tuple[list[Ints], list[Ints]]:
    """The rows about some questions, of each run.

    Args:
        placements: how the rows of each run lie.
        questions: positions of those that are chosen, ascending.

    Returns:
        their indices, ascending, and the place of each row's question among those chosen: an array of shape (rows,) per run.
    """
    place_of = np.full(max([-1, *(each.positions.max(initial=-1) for each in placements), questions.max(initial=-1)]) + 1, -1)
    place_of[questions] = np.arange(len(questions))
    found = [place_of[each.positions] for each in placements]
    rows = [np.flatnonzero(places >= 0) for places in found]
    return rows, [places[some] for places, some in zip(found, rows, strict=True)]


def anew(snapshot: Snapshot, selection: Selection, reads: Set[str], pairs: bool, responses: str | None) -> Rows:
    """Rows of the clues of a selection, computed from their responses.

    Args:
        snapshot: the store.
        selection: what is looked at.
        reads: which statistics.
        pairs: whether items are asked for.
        responses: table to read in place of the store's responses.
    """
    with_clauses, parameters = chosen(selection)
    few = sorted(reads - {*BIN_COLUMNS})
    binned = [BINS_USED, *BIN_COLUMNS] if reads & {*BIN_COLUMNS} else []
    answers = kept_responses(selection, parameters, responses)
    found = snapshot.frame(
        f"""{with_clauses}
        select r.place as run, q.place, {", ".join(f"s.{name}" for name in [*few, *binned])}
        from ({select_sql(answers)}) s join chosen_runs r using (run) join chosen_questions q using (question_id)
        order by r.place, q.place""",
        parameters,
    )
    whole = Rows(
        run=found["run"].to_numpy().astype(np.int64),
        places=found["place"].to_numpy().astype(np.int64),
        sums={name: numbers(found[name]) for name in few},
        bins=Bins.of(found) if binned else None,
        pairs=None,
    )
    if not pairs:
        return whole
    items = snapshot.frame(
        f"""{with_clauses}
        select p.confidence, p.correct from ({answers}) p
        join chosen_runs r using (run) join chosen_questions q using (question_id) order by r.position, q.position, p.clue""",
        parameters,
    )
    return replace(whole, pairs=(numbers(items["confidence"]), numbers(items["correct"])))


def chosen(selection: Selection) -> tuple[str, dict[str, Any]]:
    """``with`` clauses for the runs and questions of a selection, and their parameters."""
    runs, run_parameters = selection.run_filter()
    questions, question_parameters = selection.question_filter()
    clauses = f"""with chosen_runs as (
            select run, model, elicitation, position, row_number() over (order by position) - 1 as place from runs r where {runs}
        ),
        chosen_questions as (
            select question_id, position, difficulty, row_number() over (order by position) - 1 as place
            from questions q where {questions}
        )"""
    return clauses, run_parameters | question_parameters


def kept_responses(selection: Selection, parameters: dict[str, Any], responses: str | None = None) -> str:
    """SQL for the responses to the clues of a selection, after the clauses of ``chosen``; adds to the parameters."""
    kept = f"""select * from {responses or "responses"}
        where run in (select run from chosen_runs) and question_id in (select question_id from chosen_questions)"""
    if not selection.revealed:
        return kept
    parameters |= {"s_from": selection.revealed[0], "s_to": selection.revealed[1]}
    return f"""select * from ({kept}) semi join
        (select * from clues where revealed between $s_from and $s_to) using (dataset, question_id, clue)"""
