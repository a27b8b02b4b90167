"""What people did that no human curve contains, because the import had to leave it out."""

from __future__ import annotations

from data.store import Snapshot
from queries.engine.selected_answers import selection_clauses
from queries.selection import Selection


def left_out_plays(snapshot: Snapshot, selection: Selection) -> dict[str, int]:
    """Return the number of plays or buzzes that were left out of a selection's questions, by what they are and why, in words.

    It is empty if nothing was left out, and for a dataset that was imported before these numbers were stored.
    """
    with_clauses, parameters = selection_clauses(selection)
    rows = snapshot.rows(
        f"""{with_clauses}
        select reason, sum(plays)::bigint from left_out_plays p join chosen_questions q using (question_id)
        where p.dataset = $dataset group by 1 order by 2 desc, 1""",
        parameters,
    )
    return dict(rows)
