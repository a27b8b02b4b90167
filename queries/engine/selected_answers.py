"""What a selection keeps: its runs, questions and responses as SQL, and its items as masks over what is in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import SqlParameters, literal
from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.answer_states import NO_CONFIDENCE, OTHER_STATES, STATES, State, among_states
from clueline.queries.engine import run_columns
from clueline.queries.engine.run_columns import ResponseOrder, response_values
from clueline.queries.metrics.counted_answers import CountedAnswers
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.selection import ClueMask, Selection

Bools = NDArray[np.bool_]


@once_per_snapshot
def chosen(snapshot: Snapshot, selection: Selection) -> tuple[list[str], Ints]:
    """Return the runs, in order of import, and the ascending positions of the questions that a selection's filters keep."""
    clauses, parameters = selection_clauses(selection)
    runs = snapshot.rows(f"{clauses} select run from chosen_runs order by place", parameters)
    questions = snapshot.frame(f"{clauses} select position from chosen_questions order by place", parameters)
    return [run for (run,) in runs], questions["position"].cast(pl.Int64).to_numpy()


def counting_what_there_is(snapshot: Snapshot, selection: Selection) -> Selection:
    """Return the same selection, without scored answers among its items if its dataset has none: then statistics are shared."""
    sql = "select 1 from runs where dataset = $d and scored > 0 limit 1"
    if "scored" not in selection.counted.states or snapshot.rows(sql, {"d": selection.dataset}):
        return selection
    return selection.replace(counted=selection.counted.without_scored())


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
    """Return SQL for the responses that a selection keeps, to follow ``selection_clauses``; parameters are added in place.

    By default, states are those of the selection's items. ``mark_disputed`` adds ``disputed``.
    """
    graded = snapshot.with_grading(selection.grading_in_force)
    if mark_disputed:
        graded = graded.with_disputed_marked()
    condition, values = selection.run_filter()
    runs = [run for (run,) in snapshot.rows(f"select run from runs r where {condition} order by position", values)]
    chosen_responses, values = selection.response_filter()
    parameters |= values
    named = selection.questions or ()
    # Responses to one question are found in the files. From ten questions on, reading all is as fast.
    responses = f"""select * from {graded.responses(runs, named if len(named) == 1 else ())} p
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


@once_per_snapshot
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


def runs_without_confidence(snapshot: Snapshot, selection: Selection, runs: pl.DataFrame) -> list[str]:
    """Return the runs whose answers have no confidence and no score, if the metrics of a selection need one.

    Where abstentions count as answers with confidence 0, these runs would have values of their abstentions alone. ``runs`` are
    the rows of ``chosen_runs``; only the answers of those that lack some confidence are read.
    """
    if not selection.items.need_confidence or "abstained" not in selection.items.states:
        return []
    lacking = runs.filter(pl.sum_horizontal(NO_CONFIDENCE) > 0)["run"].to_list()
    if not lacking:
        return []
    counts = counts_by_run(state_counts(snapshot, selection.on_runs(lacking)))
    stated = {run for run, states in counts.items() if states["answered"] or states["scored"]}
    return [run for run, states in counts.items() if run not in stated and any(states[state] for state in NO_CONFIDENCE)]


class ItemFilter(NamedTuple):
    """Which questions, by position, which clues of the dataset and which items of a run are kept; None keeps all."""

    questions: Bools
    clues: Bools | None
    items: Bools | None
    first: Ints  # clue at each position

    def kept(self, items: Ints, positions: NDArray[np.integer[Any]], clues: NDArray[np.integer[Any]]) -> Bools:
        """Check some items, by index in the run, position of the question and number of the clue in it."""
        kept: Bools = self.questions[positions]
        if self.clues is not None:
            kept &= self.clues[self.first[positions] + clues]
        return kept if self.items is None else kept & self.items[items]


def item_filters(
    snapshot: Snapshot, selection: Selection, runs: Sequence[str], questions: Ints, states: tuple[State, ...] | None = None
) -> list[ItemFilter]:
    """Return which items of each run, in some states, a selection keeps, of questions at some positions."""
    first, clues = run_columns.clues(snapshot, selection.dataset).first, clue_mask(snapshot, selection)
    chosen = np.zeros(max(len(first), questions.max(initial=-1) + 1), dtype=bool)
    chosen[questions] = True
    return [ItemFilter(chosen, clues, items, first) for items in attribute_masks(snapshot, selection, runs, states)]


def clue_mask(snapshot: Snapshot, selection: Selection) -> Bools | None:
    """Return which clues of the dataset a selection keeps, whatever their question, shape (clues,); None if it keeps all."""
    if not selection.filters_clues:
        return None
    # The selection's clue mask is applied here: as an SQL condition it would be a join, which need not keep the table's order.
    condition, parameters = selection.replace(clue_mask=None).clue_filter()
    clues = run_columns.clues(snapshot, selection.dataset)
    # DuckDB returns rows in the order of the table. Sorting them in SQL takes eight times as long.
    sql = f"select coalesce({condition}, false) as met from clues c where c.dataset = $dataset"
    kept: Bools = snapshot.frame(sql, parameters)["met"].to_numpy()[clues.order]
    if selection.clue_mask is not None:
        positions, numbers = clues.numbered()
        bits = np.frombuffer(selection.clue_mask.bits.encode(), np.uint8) == ord("1")
        kept = kept & bits[positions * selection.clue_mask.width + numbers]
    return kept


def written_mask(question: Ints, number: Ints, clues: Bools) -> ClueMask:
    """Return a mask for ``Selection.clue_mask``. All have shape (clues,); the first two are as in ``Clues.numbered``."""
    width = int(number.max(initial=-1)) + 1
    mask = np.zeros((int(question.max(initial=-1)) + 1, width), dtype=bool)
    mask[question[clues], number[clues]] = True
    return ClueMask(width, bits(mask.ravel()))


def bits(mask: Bools) -> str:
    """Return a mask as a text of 1 and 0."""
    return (mask.astype(np.uint8) + ord("0")).tobytes().decode()


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

    def convert(order: ResponseOrder, table: pl.DataFrame) -> AttributeColumn:
        texts = table["value"].gather(order.rows)
        values = texts.unique().sort()
        return AttributeColumn(tuple(values), texts.cast(pl.Enum(values)).to_physical().to_numpy())

    sql = f"coalesce(attributes[{literal(name)}], '') as value"
    return response_values(snapshot, dataset, runs, f"attribute {name}", [sql], convert, states)


def left_out_plays(snapshot: Snapshot, selection: Selection) -> dict[str, int]:
    """Return the number of plays or buzzes that were left out of a selection's questions, by what they are and why, in words.

    It is empty for a dataset that was imported before these numbers were stored.
    """
    with_clauses, parameters = selection_clauses(selection)
    rows = snapshot.rows(
        f"""{with_clauses}
        select reason, sum(plays)::bigint from left_out_plays p join chosen_questions q using (question_id)
        where p.dataset = $dataset group by 1 order by 2 desc, 1""",
        parameters,
    )
    return dict(rows)
