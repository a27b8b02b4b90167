"""The surest wrong guess before people knew: what calibration against people is about, in one question."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.engine.selected_statistics import selected_responses, selection_clauses
from queries.selection import Selection


class EarlyMistake(msgspec.Struct):
    """A wrong guess that a run was sure of while no human team had answered correctly.

    Attributes:
        question_id: of the question.
        clue: after which the run guessed, from 0; the question has ``clues``.
        run, model, elicitation: who guessed.
        guess, confidence: what, and how sure.
        wrong: number of runs whose guess after this clue is wrong, of the ``runs`` that guessed.
        known: share of the human teams that were right by the end of the question.
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
    """The surest early mistake of a selection; None where people knew first, or no people played."""

    surest: EarlyMistake | None


def surest_early_mistake(snapshot: Snapshot, selection: Selection) -> EarlyMistakes:
    """The wrong guess of the greatest confidence at a clue after which no human team had answered correctly.

    Only questions that some team answered correctly in the end are considered, and those that half of the teams did come first:
    there was something to know. Ties go to the earlier question and clue.
    """
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    rows = snapshot.frame(
        f"""{with_clauses},
        answers as (select * from ({responses}) where not failed),
        known as (
            select dataset, question_id, max(team_share) as share, max(clue) + 1 as clues from curves
            where dataset = $story_dataset group by all having share > 0
        ),
        surest as (
            select p.* from answers p
            join curves h using (dataset, question_id, clue) join known using (dataset, question_id)
            join chosen_questions q using (question_id)
            where p.correct = 0 and h.team_share = 0
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
