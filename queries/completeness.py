"""How much of a selection a run answered. A failed call is no answer; an abstention, or an answer that cannot be read, is one."""

from __future__ import annotations

import msgspec

from clueline.data.store import Snapshot
from clueline.data.store.answer_states import STATES
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.selection import Selection


class Completeness(msgspec.Struct):
    """How much of the ``questions`` of a selection a run answered.

    A clue counts by the share of its calls that were answered, 0 if it was not asked, and a question by the mean of its clues.
    ``share`` is the mean of the questions, None if there are none. ``failed`` is the number of failed calls.
    """

    questions: int
    share: float | None
    failed: int


def completeness(snapshot: Snapshot, selection: Selection, run: str) -> Completeness:
    """Compute how much of the selected questions and clues a run answered, whatever the attributes of its answers."""
    selection = selection.on_runs([run]).without_filters("responses")
    clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, STATES)
    clues, values = selection.clue_filter()
    ((questions, share, failed),) = snapshot.rows(
        f"""{clauses},
        calls as (
            select question_id, clue, count(*) as calls, count(*) filter (failed) as failed from ({responses}) group by all
        ),
        selected_clues as (
            select question_id, clue from clues c
            where {clues} and question_id in (select question_id from chosen_questions)
        ),
        of_questions as (
            select avg(coalesce((calls - failed) / calls, 0)) as share, coalesce(sum(failed), 0)::bigint as failed
            from selected_clues left join calls using (question_id, clue) group by question_id
        )
        select count(*), avg(share), coalesce(sum(failed), 0)::bigint from of_questions""",
        parameters | values,
    )
    return Completeness(questions, share, failed)
