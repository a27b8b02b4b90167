"""What can be the unit of intervals, tests and bands: the question, or a cluster of questions that depend on each other."""

from __future__ import annotations

from data.store import Snapshot

QUESTION = "question"
AGES = "ages"
YEARS = 5  # of the stated age in a block of ages


def default_cluster(snapshot: Snapshot, dataset: str) -> str:
    """Return the unit of a dataset where an address names none: blocks of ages if its questions state an age."""
    stated = snapshot.rows("select 1 from questions where dataset = $d and minimum_age is not null limit 1", {"d": dataset})
    return AGES if stated else QUESTION


def offered_clusters(snapshot: Snapshot, dataset: str) -> tuple[str, ...]:
    """Return what can be the unit in a dataset, its default first: single questions, attributes of questions, blocks of ages."""
    names = snapshot.rows("select distinct attribute from attributes where dataset = $d order by 1", {"d": dataset})
    return tuple(dict.fromkeys([default_cluster(snapshot, dataset), QUESTION, *(name for (name,) in names)]))
