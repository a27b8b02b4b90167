"""Answers that are wrong although the run was sure, across all runs of a selection."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.selected_answers import selected_responses, selection_clauses
from queries.reliability import Item, first_items
from queries.selection import Selection, selection_keys

SURE = 0.8
MAX_LISTED = 200


class SureRun(msgspec.Struct):
    """How often a run is sure, and how often it is wrong then; ``sure`` and ``wrong`` count answers.

    Attributes:
        share: the share of its sure answers that are wrong; None if it is never sure.
    """

    run: str
    model: str
    elicitation: str
    answers: int
    sure: int
    wrong: int
    share: float | None


class ConfidentlyWrong(msgspec.Struct):
    """Answer of ``/api/v1/confidently-wrong``.

    Attributes:
        least: the confidence from which an answer is sure.
        runs: the runs, most wrong answers first; all of their answers with a confidence count.
        total: the number of wrong answers that are sure.
        items: the surest of them.
    """

    data_version: str
    selection: dict[str, list[str]]
    least: float
    runs: list[SureRun]
    total: int
    items: list[Item]


def confidently_wrong(snapshot: Snapshot, selection: Selection, least: float = SURE, limit: int = MAX_LISTED) -> ConfidentlyWrong:
    """Return the wrong answers (correctness below one half) with a confidence of at least ``least``, the surest first.

    Answers on which the gradings of their run differ are marked; with ``undisputed`` they count nowhere.
    """
    counted, _ = restrict(snapshot, selection)
    with_clauses, parameters = selection_clauses(counted)
    responses = selected_responses(snapshot, counted, parameters, ("answered",), mark_disputed=True)
    chosen = f"select * from ({responses}) {'where not disputed' if counted.undisputed else ''}"
    runs = snapshot.frame(
        f"""{with_clauses}
        select r.run, r.model, r.elicitation, count(*) as answers, count(*) filter (confidence >= $w_least) as sure,
            count(*) filter (confidence >= $w_least and correct < 0.5) as wrong, wrong / nullif(sure, 0) as share
        from ({chosen}) p join chosen_runs r using (run) group by r.run, r.model, r.elicitation, r.position
        order by wrong desc, r.position""",
        parameters | {"w_least": least},
    )
    condition, limits = "p.confidence >= $w_least and p.correct < 0.5", {"w_least": least}
    first = first_items(snapshot, counted, ("answered",), condition, limits, "confidence", limit)
    return ConfidentlyWrong(
        snapshot.version,
        selection_keys(selection),
        least,
        [SureRun(**row) for row in runs.to_dicts()],
        first.total,
        first.items,
    )
