"""Rows of statistics of a selection: stored for whole questions, computed from items where only some items are selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.duckdb_and_polars import SqlParameters
from data.store import Snapshot
from data.store.answer_states import OTHER_STATES, STATES, State, among_states
from data.sufficient_statistics import BIN_COLUMNS, Bins, Items, bin_sums, sums
from queries.engine import run_columns
from queries.engine.item_filter import ItemFilter, attribute_masks
from queries.engine.run_columns import Clues, joined
from queries.metrics.counted_answers import CountedAnswers
from queries.metrics.kernels.arrays import Floats, Ints
from queries.query_time_limit import check_time_limit
from queries.selection import Selection

READ_AT_ONCE = 5_000_000  # items


@dataclass(frozen=True)
class StatisticRows:
    """Statistics by run and, within a run, by question, shape (rows,).

    ``run`` and ``places`` are indices among the chosen runs and questions. ``pairs`` are confidence and correctness of the items,
    in the order of rows and clues; like ``bins``, None if not requested. ``sample`` is empty unless there is one row per sample.
    """

    run: Ints
    places: Ints
    sums: dict[str, Floats]
    bins: Bins | None
    pairs: tuple[Floats, Floats] | None
    sample: Ints = field(default_factory=lambda: np.empty(0, np.int64))


def stored_rows(
    snapshot: Snapshot, dataset: str, runs: pl.DataFrame, questions: pl.DataFrame, reads: Set[str], pairs: bool
) -> StatisticRows:
    """Return rows for whole questions from the statistics that were stored at ingest, and the items if ``pairs``."""
    names = runs["run"].to_list()
    rows, places = rows_of_questions(run_columns.row_positions(snapshot, dataset, names), questions["position"].to_numpy())

    def concatenated(columns: Iterable[NDArray[Any]], indices: Iterable[Ints] = rows) -> Floats:
        pairs_of_runs = zip(columns, indices, strict=True)
        return joined([column if len(column) == len(index) else column[index] for column, index in pairs_of_runs], float)

    columns_of_runs = run_columns.statistic_columns(snapshot, dataset, names, reads - {*BIN_COLUMNS})
    bins = run_columns.run_bins(snapshot, dataset, names) if reads & {*BIN_COLUMNS} else None
    items = run_columns.run_items(snapshot, dataset, names) if pairs else []
    item_indices = [part.of_rows(index)[0] for part, index in zip(items, rows, strict=False)]
    return StatisticRows(
        run=np.repeat(np.arange(len(names)), np.array([len(part) for part in rows], dtype=np.int64)),
        places=joined(places, np.int64),
        sums={name: concatenated(columns) for name, columns in columns_of_runs.items()},
        bins=None if bins is None else Bins.concatenate([part.take(index) for part, index in zip(bins, rows, strict=True)]),
        pairs=(
            concatenated((part.confidence for part in items), item_indices),
            concatenated((part.correct for part in items), item_indices),
        )
        if pairs
        else None,
    )


def rows_of_questions(positions: Sequence[NDArray[np.int32]], questions: Ints) -> tuple[list[Ints], list[Ints]]:
    """Return the rows of each run about chosen questions, and the index of each row's question, from ascending positions."""
    place_of = np.full(max([-1, *(part.max(initial=-1) for part in positions), questions.max(initial=-1)]) + 1, -1)
    place_of[questions] = np.arange(len(questions))
    places_of_runs = [place_of[part] for part in positions]
    rows = [np.flatnonzero(places >= 0) for places in places_of_runs]
    return rows, [places[index] for places, index in zip(places_of_runs, rows, strict=True)]


class Responses(NamedTuple):
    """Items of one run, in the order of questions, samples and clues. ``place`` is that of the chosen question."""

    place: Ints
    clue: NDArray[np.integer[Any]]
    confidence: Floats
    correct: Floats
    sample: Ints | None = None


def computed_rows(
    snapshot: Snapshot,
    selection: Selection,
    runs: pl.DataFrame,
    questions: pl.DataFrame,
    reads: Set[str],
    pairs: bool,
    replaced: Mapping[str, Responses] | None = None,
    by_sample: bool = False,
) -> StatisticRows:
    """Compute rows from the items that a selection keeps, and return the items if ``pairs``.

    Runs and questions are as in ``stored_rows``. The responses in ``replaced``, by run, are used instead of the stored ones and
    must already be filtered. With ``by_sample``, there is a row for each sample of a question, and all runs must have samples.
    """
    clues, names = run_columns.clues(snapshot, selection.dataset), runs["run"].to_list()
    positions = questions["position"].to_numpy()
    if replaced is None:
        responses = _responses(snapshot, selection, names, positions, clues)
    else:
        responses = ((index, replaced[run]) for index, run in enumerate(names) if run in replaced)
    plain, binned = sorted(reads - {*BIN_COLUMNS}), bool(reads & {*BIN_COLUMNS})
    run, places, bins, confidence, correct = [], [], [], [], []
    columns: dict[str, list[Floats]] = {name: [] for name in plain}
    samples: list[Ints] = []
    for index, part in responses:
        starts = np.flatnonzero(np.diff(part.place, prepend=-1))
        if not len(starts):
            continue
        at = clues.first[positions[part.place]] + part.clue
        sequences = None
        if part.sample is not None:
            sequences = run_columns.sequence_starts(part.place, part.sample)
        if by_sample and sequences is not None and part.sample is not None:
            starts, sequences = sequences[:-1], None
            samples.append(part.sample[starts])
        first = np.append(starts, len(part.place))
        items = Items(part.confidence, part.correct, first, clues.curves_at(at), sequences, clues.words[at])
        run.append(np.full(len(starts), index))
        places.append(part.place[starts])
        for name, values in sums(items, plain).items():
            columns[name].append(values)
        if binned:
            bins.append(bin_sums(items))
        if pairs:
            confidence.append(part.confidence)
            correct.append(part.correct)
    return StatisticRows(
        run=joined(run, np.int64),
        places=joined(places, np.int64),
        sums={name: joined(parts, float) for name, parts in columns.items()},
        bins=Bins.concatenate(bins) if binned else None,
        pairs=(joined(confidence, float), joined(correct, float)) if pairs else None,
        sample=joined(samples, np.int64),
    )


def _responses(
    snapshot: Snapshot, selection: Selection, names: Sequence[str], positions: Ints, clues: Clues
) -> Iterator[tuple[int, Responses]]:
    """Yield the index and the responses of each run that the selection keeps, from the cached items."""
    dataset, item_filter = selection.dataset, ItemFilter.read(snapshot, selection)
    for indices in batches_of_runs(snapshot, dataset, names):
        check_time_limit()
        batch_names = [names[index] for index in indices]
        items_of_runs = run_columns.run_items(snapshot, dataset, batch_names, selection.items)
        masks = attribute_masks(snapshot, selection, batch_names)
        rows, places = rows_of_questions([items.positions for items in items_of_runs], positions)
        for index, items, mask, run_rows, run_places in zip(indices, items_of_runs, masks, rows, places, strict=True):
            entries, sizes = items.of_rows(run_rows)
            place, clue = np.repeat(run_places, sizes), items.clue[entries]
            if selection.filters_items:
                selected_items = np.flatnonzero(item_filter.kept(mask, entries, clues.first[positions[place]] + clue))
                entries, place, clue = entries[selected_items], place[selected_items], clue[selected_items]
            sample = None if items.sample is None else items.sample[entries]
            yield index, Responses(place, clue, items.confidence[entries], items.correct[entries], sample)


def batches_of_runs(snapshot: Snapshot, dataset: str, names: Sequence[str]) -> Iterator[list[int]]:
    """Yield batches of run indices whose items are read together, so that memory need not hold the items of all runs at once."""
    counts = [values.sum() for values in run_columns.statistic_columns(snapshot, dataset, names, ["items"])["items"]]
    batch = (np.cumsum(counts) // READ_AT_ONCE).astype(int)
    for _, group in groupby(range(len(names)), key=lambda index: batch[index]):
        yield list(group)


def chosen(snapshot: Snapshot, selection: Selection) -> tuple[list[str], Ints]:
    """Return the runs, in order of import, and the ascending positions of the questions that a selection's filters keep."""
    clauses, parameters = selection_clauses(selection)
    runs = snapshot.rows(f"{clauses} select run from chosen_runs order by place", parameters)
    questions = snapshot.frame(f"{clauses} select position from chosen_questions order by place", parameters)
    return [run for (run,) in runs], questions["position"].cast(pl.Int64).to_numpy()


def selection_clauses(selection: Selection) -> tuple[str, SqlParameters]:
    """Return ``with`` clauses ``chosen_runs`` and ``chosen_questions`` for a selection, and their parameters."""
    runs, run_parameters = selection.run_filter()
    questions, question_parameters = selection.question_filter()
    clauses = f"""with chosen_runs as (
            select run, model, elicitation, position, {", ".join(OTHER_STATES)}, samples, respondents,
                row_number() over (order by position) - 1 as place
            from runs r where {runs}
        ),
        chosen_questions as (
            select question_id, position, difficulty, difficulty_source, row_number() over (order by position) - 1 as place
            from questions q where {questions}
        )"""
    return clauses, run_parameters | question_parameters


def selected_responses(
    snapshot: Snapshot,
    selection: Selection,
    parameters: SqlParameters,
    states: tuple[State, ...] | None = None,
    *,
    mark_disputed: bool = False,
) -> str:
    """Return SQL for the responses that a selection keeps, to follow the clauses of ``selection_clauses``.

    Parameters are added in place. By default, states are those of the selection's items. ``mark_disputed`` adds ``disputed``.
    """
    graded = snapshot.with_grading(selection.grading_in_force)
    if mark_disputed:
        graded = graded.with_disputed_marked()
    condition, values = selection.run_filter()
    runs = [run for (run,) in snapshot.rows(f"select run from runs r where {condition} order by position", values)]
    chosen_responses, values = selection.response_filter()
    parameters |= values
    responses = f"""select * from {graded.responses(runs)} p
        where question_id in (select question_id from chosen_questions) and {among_states(states or selection.items.states)}
            and {chosen_responses}"""
    if not selection.filters_clues:
        return responses
    condition, values = selection.clue_filter()
    parameters |= values
    return (
        f"""select * from ({responses}) semi join (select * from clues c where {condition}) using (dataset, question_id, clue)"""
    )


def has_other_states(runs: pl.DataFrame, counted: CountedAnswers) -> bool:
    """Return whether any of some rows of ``chosen_runs`` has counted answers in states other than answered."""
    return any(state != "answered" and bool((runs[state] > 0).any()) for state in counted.states)


def state_counts(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    """Count the responses at the clues of a selection by run, ``question_id`` and state, whether it counts them or not.

    Runs that have nothing but answers with a confidence are left out.
    """
    with_clauses, parameters = selection_clauses(selection)
    any_state = " + ".join(OTHER_STATES)
    runs = snapshot.rows(f"{with_clauses} select run from chosen_runs where {any_state} > 0 order by place", parameters)
    if not runs:
        return pl.DataFrame(schema={"run": pl.String, "question_id": pl.String, **dict.fromkeys(STATES, pl.Int64)})
    selection = selection.on_runs(run for (run,) in runs)
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, STATES)
    counts = ", ".join(f"count(*) filter ({among_states((state,))}) as {state}" for state in STATES)
    return snapshot.frame(f"{with_clauses} select run, question_id, {counts} from ({responses}) group by 1, 2", parameters)


def counts_by_run(counts: pl.DataFrame) -> dict[str, dict[State, int]]:
    """Sum the counts of ``state_counts`` over questions, by run. Runs with nothing but answers with a confidence are left out."""
    summed = counts.group_by("run").agg(pl.col(STATES).sum())
    of_runs = {run: dict(zip(STATES, of_run, strict=True)) for run, *of_run in summed.iter_rows()}
    return {run: states for run, states in of_runs.items() if any(states[state] for state in OTHER_STATES)}
