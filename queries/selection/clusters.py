"""What can be the unit of intervals, tests and bands: the question, or a cluster of questions that depend on each other."""

from __future__ import annotations

from data.store import Snapshot

QUESTION = "question"
AGES = "ages"
YEARS = 5  # of the stated age in a block of ages


def offered_clusters(snapshot: Snapshot, dataset: str) -> tuple[str, ...]:
    """Return the names of the clusters that a dataset has, its default first.

    They are single questions, the attributes of questions and, by default where questions state an age, blocks of ages.
    """
    stated = snapshot.rows("select 1 from questions where dataset = $d and minimum_age is not null limit 1", {"d": dataset})
    names = snapshot.rows("select distinct attribute from attributes where dataset = $d order by 1", {"d": dataset})
    return tuple(dict.fromkeys([*([AGES] if stated else []), QUESTION, *(name for (name,) in names)]))
