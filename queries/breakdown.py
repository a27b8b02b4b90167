"""Metrics by part of a selection, and questions that no run answered correctly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from clueline.data.store import Snapshot
from clueline.data.sufficient_statistics import bin_of
from clueline.queries.engine.common_questions import Coverage
from clueline.queries.engine.counted import Counted, count_answers, count_groups
from clueline.queries.engine.gather import gather
from clueline.queries.engine.parts_of_questions import BY, By, offered_parts, parts_of_questions
from clueline.queries.engine.plays_of_people import with_second_values
from clueline.queries.engine.primary_metric import RankedMetrics, ranked_metrics
from clueline.queries.engine.ranked_metric_rows import RunRow, merged_rows, remove_ranks, run_rows
from clueline.queries.engine.selected_answers import counts_by_run, state_counts
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.questions import question_details
from clueline.queries.selection import Answer, Selection, head
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import format_range
from clueline.queries.selection.view_parameters_base import split_key

BREAKDOWN_FIELDS = ("category", "subcategory", "radius", "difficulty")
MAX_PARTS = 50  # an attribute with more values cannot divide questions
STEPS = 10  # steps of difficulty, from 0 to 1


def breakdown_fields(facets: Facets) -> tuple[str, ...]:
    """Return what can divide a dataset: what divides its questions, and parts of questions."""
    parts = offered_parts(facets.longest) if facets.longest > 1 else ()
    return (*BREAKDOWN_FIELDS, *parts, *_attributes(facets))


def question_fields(facets: Facets) -> tuple[str, ...]:
    """Return what can divide the questions of a dataset: columns, and attributes such as ``attr.language``."""
    return (*BREAKDOWN_FIELDS, *_attributes(facets))


def _attributes(facets: Facets) -> list[str]:
    return [key for key, values in facets.values.items() if split_key(key)[0] == "attr" and len(values) <= MAX_PARTS]


class BreakdownPart(msgspec.Struct):
    """Questions, or responses, that share a value.

    ``value`` is what they share, None for those without one. A step of difficulty is written ``lo..hi`` and means [lo, hi); the
    last step includes 1. A clue is written as its number within the question, from 1. The share of the question that is revealed
    by the end of a clue is written ``lo..hi``, too, but means (lo, hi]. Intervals and ranks are within the part. Letters, and
    which runs may be best, are adjusted for the number of parts, too.
    """

    value: str | None
    questions: int
    rows: list[RunRow]


class Breakdown(Answer):
    """Answer of ``/api/v1/breakdown``; parts in ascending order, those without a value last."""

    by: str
    parts: list[BreakdownPart]


def breakdown(snapshot: Snapshot, selection: Selection, by: str, metrics: Sequence[Metric], intervals: bool = False) -> Breakdown:
    """Return the metrics of every run within each part of a selection, by one of ``breakdown_fields``."""
    field, name = split_key(by)
    of_responses = "select 1 from response_attributes where dataset = $d and attribute = $name limit 1"
    if field == "attr" and snapshot.rows(of_responses, {"d": selection.dataset, "name": name}):
        measured = _parts_of_responses(snapshot, selection, name, metrics, intervals)
    elif of_clues := next((part for part in BY if part == by), None):
        measured = _parts_of_clues(snapshot, selection, of_clues, metrics, intervals)
    else:
        measured = _parts_of_questions(snapshot, selection, by, metrics, intervals)
    by_value: dict[Any, list[BreakdownPart]] = {}
    for value, part in measured:
        by_value.setdefault(value, []).append(part)
    parts = [
        BreakdownPart(same[0].value, same[0].questions, merged_rows([part.rows for part in same], metrics))
        for _, same in sorted(by_value.items(), key=lambda entry: (entry[0] is None, entry[0]))
    ]
    answer = Breakdown(*head(snapshot, selection), by, parts)
    of_people = [metric for metric in metrics if metric.rests_on_people]
    if not of_people or field == "difficulty":  # without the plays, questions have another difficulty
        return answer
    return with_second_values(snapshot, selection, answer, lambda other, same: breakdown(other, same, by, of_people))


def _parts_of_questions(
    snapshot: Snapshot, selection: Selection, by: str, metrics: Sequence[Metric], intervals: bool
) -> Iterator[tuple[Any, BreakdownPart]]:
    """Yield the parts by a property of questions, for each group of metrics, with what they are sorted by."""
    field, name = split_key(by)
    source, value = "", f"q.{by}"
    if field == "attr":
        of_question = "a.dataset = q.dataset and a.question_id = q.question_id and a.attribute = $attribute"
        source, value = f"left join attributes a on {of_question}", "a.value"
    for counted in count_groups(snapshot, selection, metrics):
        condition, parameters = counted.selection.question_filter()
        facts = snapshot.frame(
            f"select q.question_id, {value} as value from questions q {source} where {condition} order by q.position",
            parameters | ({"attribute": name} if field == "attr" else {}),
        ).with_row_index("place")
        evidence, states = counted.evidence, state_counts(snapshot, counted.selection.replace(clue_mask=None))
        if by == "difficulty":
            steps = [None if value is None else min(int(bin_of(value, STEPS)), STEPS - 1) for value in facts["value"]]
            facts = facts.with_columns(value=pl.Series(steps, dtype=pl.Int64))
        tested = _tested(counted, facts["value"].n_unique()) if intervals else None
        for (shared,), part in facts.group_by("value"):
            inside = evidence.select_rows(np.isin(evidence.places, part["place"].to_numpy()))
            states_here = counts_by_run(states.join(part, on="question_id", how="semi"))
            rows = run_rows(inside, counted.metrics, states_here, counted.metrics if intervals else (), tested)
            yield shared, BreakdownPart(_name(by, shared), len(part), _ranked(rows, counted.coverage))


def _parts_of_clues(
    snapshot: Snapshot, selection: Selection, by: By, metrics: Sequence[Metric], intervals: bool
) -> Iterator[tuple[int, BreakdownPart]]:
    """Yield the same by clue or share revealed, each of what its own runs answered there; a question can be in several."""
    parts = parts_of_questions(snapshot, selection, by)
    for part in parts:
        inside = selection.replace(clue_mask=part.clues)
        for measured in _measured(snapshot, inside, part.value, metrics, len(parts) if intervals else None):
            yield part.number, measured


def _parts_of_responses(
    snapshot: Snapshot, selection: Selection, name: str, metrics: Sequence[Metric], intervals: bool
) -> Iterator[tuple[int, BreakdownPart]]:
    """Yield the same by an attribute of responses, each of what its own runs answered; a question can be in several."""
    stored = snapshot.rows(
        """select distinct value from response_attributes where dataset = $d and attribute = $name and value is not null
        order by try_cast(value as double), value""",
        {"d": selection.dataset, "name": name},
    )
    chosen = dict(selection.attr).get(name)
    values = [value for value in (*(value for (value,) in stored), "") if not chosen or value in chosen]
    for place, value in enumerate(values):
        inside = selection.with_response_attribute(name, value)
        for measured in _measured(snapshot, inside, value or None, metrics, len(values) if intervals else None):
            yield place, measured


def _measured(
    snapshot: Snapshot, selection: Selection, value: str | None, metrics: Sequence[Metric], parts: int | None
) -> Iterator[BreakdownPart]:
    """Yield a part, for each group of metrics; with intervals, if the number of ``parts`` is given."""
    for counted in count_groups(snapshot, selection, metrics):
        tested = None if parts is None else _tested(counted, parts)
        evidence, group = counted.evidence, counted.metrics
        states = counts_by_run(state_counts(snapshot, counted.selection.replace(clue_mask=selection.clue_mask)))
        # A part in which no run takes part has no rows.
        if len(evidence.places) or (counted.coverage is not None and any(counted.coverage.answered.values())):
            rows = _ranked(run_rows(evidence, group, states, () if parts is None else group, tested), counted.coverage)
            yield BreakdownPart(value, len(np.unique(evidence.places)), rows)


def _tested(counted: Counted, parts: int) -> RankedMetrics | None:
    """Return what letters are adjusted for, as claims are made of each part; None if runs are not comparable."""
    if not counted.comparable:
        return None
    return ranked_metrics(counted.snapshot, counted.selection)._replace(parts=parts)


def _ranked(rows: list[RunRow], coverage: Coverage | None) -> list[RunRow]:
    """Return rows without their ranks if no run takes part."""
    if coverage is not None and not coverage.taking_part:
        remove_ranks(rows)
    return rows


def _name(by: str, value: object) -> str | None:
    if value is None:
        return None
    if by == "difficulty" and isinstance(value, int):
        return format_range((value / STEPS, (value + 1) / STEPS))
    return str(value)


ACCURACY, CONFIDENCE = CATALOGUE["accuracy"], CATALOGUE["mean_confidence"]
MIN_RUNS = 2  # with one run, these would be its mistakes, which the page of the run lists


class UnsolvedQuestion(msgspec.Struct):
    """A question on which the accuracy of every run that answered it is 0.

    Confidences are means over clues and samples of the runs that answered it, the highest that of ``surest``; None if no answer
    has a confidence. ``heard`` counts human teams, once per room, ``people`` is the share of these that were right, and
    ``disputed`` counts runs whose gradings differ on one of their answers to it. For ``second``, see ``plays_of_people``.
    """

    question_id: str
    answer: str | None
    category: str | None
    runs: int
    mean_confidence: float | None
    highest_confidence: float | None
    surest: str | None
    heard: int
    people: float | None
    disputed: int
    second: dict[str, float] = {}


class Unsolved(Answer):
    """Answer of ``/api/v1/unsolved``: questions by the share of people who knew them, highest first; then by highest confidence.

    Only the ``answered`` questions that at least two runs answered are considered. ``categories`` says how many of these and of
    ``questions`` are in each; "" stands for no category.
    """

    answered: int
    categories: dict[str, tuple[int, int]]
    questions: list[UnsolvedQuestion]


def unsolved(snapshot: Snapshot, selection: Selection) -> Unsolved:
    """Return the questions that at least two runs answered, and none of them correctly at any selected clue.

    Where correctness is a probability, this means a probability of 0. Questions with a disputed answer are left out if the
    selection asks for undisputed ones.
    """
    of_accuracy = count_answers(snapshot, selection, [ACCURACY])
    counted, evidence = of_accuracy.selection, of_accuracy.evidence
    confident = gather(snapshot, counted.for_metrics([CONFIDENCE]), [CONFIDENCE])
    size = len(evidence.selected_questions)
    accuracy, confidence = evidence.per_question(ACCURACY), confident.per_question(CONFIDENCE)
    runs = np.bincount(evidence.places, minlength=size)
    right = np.bincount(evidence.places, accuracy != 0, minlength=size)  # NaN where an outcome is a share
    answered = runs >= MIN_RUNS
    failed = tuple(map(str, evidence.selected_questions[answered & (right == 0)]))
    facts = {fact.question_id: fact for fact in question_details(snapshot, counted, failed, ())}
    chosen = {name for name, fact in facts.items() if not (counted.undisputed and fact.disputed)}
    sql = "select question_id, coalesce(category, '') from questions where dataset = $d"
    category_of = dict(snapshot.rows(sql, {"d": selection.dataset}))
    categories: dict[str, tuple[int, int]] = {}
    for name in map(str, evidence.selected_questions[answered]):
        number, failures = categories.get(category_of[name], (0, 0))
        categories[category_of[name]] = (number + 1, failures + (name in chosen))
    by_place = np.argsort(confident.places, kind="stable")
    ends = np.searchsorted(confident.places[by_place], np.arange(size + 1))
    questions = []
    for place, name in enumerate(map(str, evidence.selected_questions)):
        if name not in chosen:
            continue
        rows = by_place[ends[place] : ends[place + 1]]
        surest = rows[np.argmax(confidence[rows])] if len(rows) else None
        fact = facts[name]
        questions.append(
            UnsolvedQuestion(
                question_id=name,
                answer=fact.answer,
                category=fact.category,
                heard=fact.heard,
                people=fact.people,
                runs=int(runs[place]),
                mean_confidence=None if surest is None else float(confidence[rows].mean()),
                highest_confidence=None if surest is None else float(confidence[surest]),
                surest=None if surest is None else confident.runs[confident.run_of_rows[surest]].run,
                disputed=len(fact.disputed),
                second={name: value for name, value in fact.second.items() if name in ("heard", "people")},
            )
        )
    questions.sort(key=lambda row: (-(row.people or 0.0), -(row.highest_confidence or 0.0), row.question_id))
    ordered = dict(sorted(categories.items()))
    return Unsolved(*head(snapshot, selection), int(answered.sum()), ordered, questions)
