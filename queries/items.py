"""Single answers: those behind a mark of a figure or a cell of a table, and those that are wrong although the run was sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import structs

from clueline.data.duckdb_and_polars import SqlParameters, first_rows
from clueline.data.human_curves import UNSTATED_END
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import State
from clueline.queries.by_clue import KNOWN
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.parts_of_questions import By, in_part
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.metrics import Conventions
from clueline.queries.selection import Answer, Selection, dataset_conventions, head
from clueline.queries.selection.parameter_kinds import Range
from clueline.queries.selection.selection import ATTR

MAX_ITEMS = 1000
Order = Literal["off", "wrong"]
# Within rows that are alike, the questions are in the order of the dataset.
ORDERS = {"off": "off desc", "wrong": "correct < 0.5 desc, off desc", "confidence": "confidence desc"}


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
    """Answer of ``/api/v1/items``: ``total`` is the number of all items, ``items`` are the first of them."""

    total: int
    items: list[Item]


def items(
    snapshot: Snapshot,
    selection: Selection,
    confidence: Range | None = None,
    limit: int = 100,
    focus: tuple[str, ...] = (),
    question: tuple[str, ...] = (),
    bin: int | None = None,
    clue: int | None = None,
    fifth: int | None = None,
    before: bool = False,
    order: Order = "off",
    within: Selection | None = None,
) -> ItemList:
    """Return items of a selection, at most ``limit`` and 1000, furthest off first.

    If ``common`` asks for it, they are on the common questions of all runs of the selection, whatever narrows the list. Those of
    a run that takes no part are on its own.

    Args:
        confidence: the range of their confidence, both ends included.
        focus, question: ids of runs and of questions; empty for all.
        bin: one bin of each run, from 1, as its reliability diagram has it under the binning of the selection.
        clue, fifth: one clue of each question, and one fifth, from 1, as in ``by_clue``.
        before: whether only answers before people knew are listed.
        order: whether the wrong ones come first, the surest first.
        within: further filters on questions, clues and responses.
    """
    if within is not None and within.response_attributes:  # runs are measured on the responses with a value that all have
        selection, within = _narrowed(selection, within), None
    answers = count_answers(snapshot, selection, compared=False)
    counted, coverage = answers.selection, answers.coverage
    if focus and (coverage is None or not coverage.apart.keys().isdisjoint(focus)):
        counted = selection.on_runs(focus)
    of_mark = (bin, clue, fifth) != (None, None, None)  # marks that count answers with a confidence
    states: tuple[State, ...] = ("answered", "failed") if selection.failed and not of_mark else ("answered",)
    low, high = confidence or (0.0, 1.0)
    condition = "p.confidence between $i_low and $i_high"
    values: SqlParameters = {"i_low": low, "i_high": high}
    for column, ids in (("run", focus), ("question_id", question)):
        if ids:
            condition += f" and list_contains($i_{column}::varchar[], p.{column})"
            values[f"i_{column}"] = list(ids)
    if bin is not None:
        condition += f" {_in_bin(bin, selection.conventions)}"
    if before:
        condition += f" and {_before_people(snapshot, selection)}"
    counted = counted if within is None else _narrowed(counted, within)
    parts: dict[By, int | None] = {"clue": clue, "revealed": fifth}
    for by, number in parts.items():
        counted = counted if number is None else in_part(snapshot, counted, by, number)
    return _first_items(snapshot, counted, states, condition, values, ORDERS[order], min(limit, MAX_ITEMS))


def _in_bin(number: int, conventions: Conventions) -> str:
    """Return SQL that continues a condition on the answers ``p``; edges are compared as written (``bin_of``)."""
    if conventions.mass_bins:
        sorted_items = "partition by p.run order by p.confidence, q.position, p.clue, p.sample nulls first"
        return f"qualify ntile({conventions.mass_bins}) over ({sorted_items}) = {number}"
    low, high = f"{number - 1} / 10", f"{number} / 10"
    if conventions.closed == "right":
        return f"and p.confidence <= {high} and (p.confidence > {low} or {number} = 1)"
    last = 11 if conventions.binning == "width10+1" else 10
    return f"and p.confidence >= {low} and (p.confidence < {high} or {number} = {last})"


def _narrowed(selection: Selection, within: Selection) -> Selection:
    """Return a selection with the filters of another one in place of its own."""
    changes = {key: getattr(within, key) for key in Selection.filters() if key != ATTR and getattr(within, key)}
    of_responses = (*selection.response_attributes, *within.response_attributes)
    return selection.replace(
        **changes,
        attr=tuple((dict(selection.attr) | dict(within.attr)).items()),
        response_attributes=tuple(dict.fromkeys(of_responses)),
    )


def _first_items(
    snapshot: Snapshot,
    counted: Selection,
    states: tuple[State, ...],
    condition: str,
    values: SqlParameters,
    order: str,
    limit: int,
) -> ItemList:
    """Return the items that fulfil an SQL condition on the answers ``p``, in an order of ``ORDERS``.

    Answers on which the gradings of their run differ are marked; with ``undisputed`` they are left out.
    """
    with_clauses, parameters = selection_clauses(counted)
    responses = selected_responses(snapshot, counted, parameters, states, mark_disputed=True)
    rows = snapshot.frame(
        first_rows(
            f"""{with_clauses}
            select p.run, p.question_id, p.clue, p.sample, w.category, p.guess, w.answer, p.confidence, p.correct,
                abs(p.confidence - p.correct) as off, p.failed, p.disputed, q.position as question_position,
                r.position as run_position
            from ({responses}) p join chosen_questions q using (question_id) join chosen_runs r using (run)
            join questions w on w.dataset = $dataset and w.question_id = p.question_id
            where {"not p.disputed and" if counted.undisputed else ""} {condition}""",
            f"{order}, question_position, clue, sample, run_position",
            "$i_limit",
        ),
        parameters | values | {"i_limit": limit},
    )
    total = int(rows["total"][0]) if len(rows) else 0
    return ItemList(total, [Item(**row) for row in rows.drop("total", "question_position", "run_position").to_dicts()])


SURE = 0.8
MAX_LISTED = 200


class SureRun(RunName):
    """How often a run is sure, and how often it is wrong then. ``share`` is ``wrong`` / ``sure``; None if it is never sure."""

    answers: int
    sure: int
    wrong: int
    share: float | None


class SureItem(Item):
    """A wrong answer.

    ``text`` is that of its clue or, without one, of its question. ``people`` is the human curve at the clue: None if no human
    team heard the question. Of the ``teams`` that did, once for each match, ``right`` had answered correctly by the end of the
    clue. ``unstated`` of them ended without a buzz where nobody stated, and count as not right.
    """

    text: str | None = None
    people: float | None = None
    teams: int | None = None
    right: int | None = None
    unstated: int = 0


class ConfidentlyWrong(Answer):
    """Answer of ``/api/v1/confidently-wrong``; answers are sure from the confidence ``least``.

    ``runs`` come by their number of sure wrong answers, most first. There are ``total`` of these, and ``items`` are the surest.
    If ``before``, all counts are of answers at clues before people knew: where the curve ``human`` is below 1/2.
    """

    least: float
    before: bool
    human: str
    runs: list[SureRun]
    total: int
    items: list[SureItem]


def confidently_wrong(
    snapshot: Snapshot, selection: Selection, least: float = SURE, before: bool = False, limit: int = MAX_LISTED
) -> ConfidentlyWrong:
    """Return the wrong answers (correctness below one half) with a confidence of at least ``least``, the surest first.

    If ``before``, only those before people knew. Answers on which the gradings of their run differ are marked; with
    ``undisputed`` they count nowhere.
    """
    counted = count_answers(snapshot, selection, compared=False).selection
    with_clauses, parameters = selection_clauses(counted)
    responses = selected_responses(snapshot, counted, parameters, ("answered",), mark_disputed=True)
    curve = dataset_conventions(snapshot, selection).human_curve_or_default
    early = _before_people(snapshot, selection) if before else "true"
    chosen = f"select * from ({responses}) p where {early} {'and not p.disputed' if counted.undisputed else ''}"
    runs = snapshot.frame(
        f"""{with_clauses}
        select r.run, r.model, r.elicitation, count(*) as answers, count(*) filter (confidence >= $w_least) as sure,
            count(*) filter (confidence >= $w_least and correct < 0.5) as wrong, wrong / nullif(sure, 0) as share
        from ({chosen}) p join chosen_runs r using (run) group by r.run, r.model, r.elicitation, r.position
        order by wrong desc, r.position""",
        parameters | {"w_least": least},
    )
    condition, limits = f"p.confidence >= $w_least and p.correct < 0.5 and {early}", {"w_least": least}
    first = _first_items(snapshot, counted, ("answered",), condition, limits, ORDERS["confidence"], limit)
    sure = [SureRun(**row) for row in runs.to_dicts()]
    listed = _with_people(snapshot, selection, first.items, curve)
    return ConfidentlyWrong(*head(snapshot, selection), least, before, curve, sure, first.total, listed)


def _before_people(snapshot: Snapshot, selection: Selection) -> str:
    """Return an SQL condition on answers ``p``: people heard the question, and did not know it by then."""
    curve = dataset_conventions(snapshot, selection).human_curve_or_default
    return f"""exists (from curves k where k.dataset = p.dataset and k.question_id = p.question_id and k.clue = p.clue
        and k.{curve} < {KNOWN})"""


def _with_people(snapshot: Snapshot, selection: Selection, listed: Sequence[Item], curve: str) -> list[SureItem]:
    """Add to answers what was revealed at their clues, and how many people knew by then."""
    facts = snapshot.frame(
        f"""select c.question_id, c.clue, coalesce(c.text, q.text) as text, h.{curve} as people, h.teams,
            round(h.team_share * h.teams)::integer as right,
            (select count(*) from exposures e where e.dataset = c.dataset and e.question_id = c.question_id
                and e.team_kind = 'human' and {UNSTATED_END}) as unstated
        from clues c join questions q using (dataset, question_id) left join curves h using (dataset, question_id, clue)
        where c.dataset = $d and list_contains($ids::varchar[], c.question_id)""",
        {"d": selection.dataset, "ids": sorted({item.question_id for item in listed})},
    ).to_dicts()
    of_clue = {(fact.pop("question_id"), fact.pop("clue")): fact for fact in facts}
    return [SureItem(**structs.asdict(item), **of_clue[item.question_id, item.clue]) for item in listed]
