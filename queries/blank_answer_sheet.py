"""The prompts that a model has to answer: one row per clue, with the text revealed by its end."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from data.store import Snapshot
from queries.selection import Selection

AT_ONCE = 2000  # questions read at a time


def prompts(snapshot: Snapshot, selection: Selection) -> Iterator[pl.DataFrame]:
    """Yield ``question_id``, ``clue`` and ``text`` of a selection's clues in the dataset's order, 2,000 questions at a time.

    ``text`` is the text of the clues so far, joined by blanks, exactly as the store holds it. Where clues have no texts of their
    own, only the last clue has a text, the question's.
    """
    condition, parameters = selection.question_filter()
    clue_condition, values = selection.clue_filter()
    parameters |= values
    last = snapshot.rows("select max(position) from questions where dataset = $d", {"d": selection.dataset})[0][0]
    for first in range(0, last + 1, AT_ONCE):
        yield snapshot.frame(
            f"""with shown as (
                select q.position, q.question_id, c.clue, {clue_condition} as selected,
                    coalesce(string_agg(c.text, ' ') over (partition by q.question_id order by c.clue),
                        case when c.clue = q.clues - 1 then q.text end) as text
                from questions q join clues c using (dataset, question_id)
                where q.position >= $first and q.position < $first + {AT_ONCE} and {condition})
            select question_id, clue, text from shown where selected order by position, clue""",
            parameters | {"first": first},
        )
