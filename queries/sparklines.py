"""Confidence of runs and the human curve over the clues of some questions, for the small charts in the list of questions."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.stored_or_computed_rows import selected_responses, selection_clauses
from queries.selection import Selection


class RunSparkline(msgspec.Struct):
    """A run on the clues of one question, of which ``revealed`` is the fraction by their ends; ``correct`` is at the last one."""

    revealed: list[float]
    confidence: list[float]
    correct: float


class HumanSparkline(msgspec.Struct):
    """The human curve ``h`` over the clues of one question, in [0, 1]; 0 before the first buzz."""

    revealed: list[float]
    h: list[float]


class QuestionSparklines(msgspec.Struct):
    """One question: ``runs`` by id, and ``people``, which is None where nobody heard the question."""

    runs: dict[str, RunSparkline]
    people: HumanSparkline | None


class Sparklines(msgspec.Struct):
    """Sparklines by question id."""

    questions: dict[str, QuestionSparklines]


def sparklines(snapshot: Snapshot, selection: Selection, ids: tuple[str, ...]) -> Sparklines:
    """Return the confidence of runs (means over their samples) and the human curve over the clues of some questions."""
    selection = restrict(snapshot, selection)[0].replace(questions=ids)
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    rows = snapshot.rows(
        f"""{with_clauses}
        , means as (
            select run, dataset, question_id, clue, avg(confidence) as confidence, avg(correct) as correct
            from ({responses}) group by all
        )
        select p.run, p.question_id, list(k.revealed order by p.clue), list(p.confidence order by p.clue),
            last(p.correct order by p.clue)
        from means p join clues k using (dataset, question_id, clue) group by 1, 2""",
        parameters,
    )
    by_question = {name: QuestionSparklines({}, human) for name, human in _people(snapshot, selection, ids).items()}
    for run, name, revealed, confidence, correct in rows:
        by_question[name].runs[run] = RunSparkline(revealed, confidence, correct)
    return Sparklines(by_question)


def _people(snapshot: Snapshot, selection: Selection, ids: tuple[str, ...]) -> dict[str, HumanSparkline | None]:
    """Return the human curve of each question, None where nobody heard it."""
    condition, parameters = selection.clue_filter("k")
    curve = selection.conventions.human_curve_or_default
    rows = snapshot.rows(
        f"""select h.question_id, list(k.revealed order by h.clue), list(coalesce(h.{curve}, 0) order by h.clue)
        from curves h join clues k using (dataset, question_id, clue)
        where list_contains($ids::varchar[], h.question_id) and {condition} group by 1""",
        parameters | {"ids": list(ids)},
    )
    heard = {name: HumanSparkline(revealed, h) for name, revealed, h in rows}
    return {name: heard.get(name) for name in ids}
