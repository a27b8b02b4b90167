"""The most confident wrong guess before people knew the answer: one question that shows what calibration against people means."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.engine.selected_answers import selected_responses, selection_clauses
from queries.selection import Selection


class EarlyMistake(msgspec.Struct):
    """A confident wrong guess at a clue, counted from 0, by which no human team had answered correctly.

    After this clue, ``runs`` guessed, ``wrong`` of them wrongly. ``known`` is the share of teams that were right in the end.
    """

    question_id: str
    clue: int
    clues: int
    run: str
    model: str
    elicitation: str
    guess: str
    confidence: float
    wrong: int
    runs: int
    known: float


class EarlyMistakes(msgspec.Struct):
    """The most confident early mistake of a selection; None where there is none, or no people played."""

    surest: EarlyMistake | None


def surest_early_mistake(snapshot: Snapshot, selection: Selection) -> EarlyMistakes:
    """Return the most confident wrong guess at a clue by which no human team had answered correctly.

    Only questions that some team answered correctly in the end are considered. Questions that at least half of the teams answered
    correctly come first, because people could know them. Ties go to the earlier question and clue. Guesses on which the gradings
    of a run differ are left out: another grading may call them right.
    """
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, mark_disputed=True)
    rows = snapshot.frame(
        f"""{with_clauses},
        answers as (select * from ({responses})),
        known as (
            select dataset, question_id, max(team_share) as share, max(clue) + 1 as clues from curves
            where dataset = $story_dataset group by all having share > 0
        ),
        surest as (
            select p.* from answers p
            join curves h using (dataset, question_id, clue) join known using (dataset, question_id)
            join chosen_questions q using (question_id)
            where p.correct = 0 and not p.disputed and h.team_share = 0
            order by share >= 0.5 desc, p.confidence desc, q.position, clue limit 1
        )
        select s.question_id, s.clue, k.clues, s.run, r.model, r.elicitation, coalesce(s.guess, '') as guess, s.confidence,
            (select count(distinct run) from answers a where a.question_id = s.question_id and a.clue = s.clue and correct = 0)
                as wrong,
            (select count(distinct run) from answers a where a.question_id = s.question_id and a.clue = s.clue) as runs,
            k.share as known
        from surest s join known k using (dataset, question_id) join chosen_runs r using (run)""",
        parameters | {"story_dataset": selection.dataset},
    ).to_dicts()
    return EarlyMistakes(EarlyMistake(**rows[0]) if rows else None)
