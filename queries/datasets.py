"""The list of datasets in the store."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.selection.clusters import offered_clusters


class Dataset(msgspec.Struct):
    """One dataset, without its withdrawn runs. People voted on ``voted`` of its questions. Radii are in years.

    Attributes are what its questions, or the responses of its runs, state beyond the standard columns. The
    default of ``clusters`` comes first.
    """

    dataset: str
    title: str
    kind: str
    simulated: bool
    questions: int
    runs: int
    human_teams: int
    human_buzzes: int
    votes: int
    voted: int
    categories: list[str]
    radii: list[int]
    attributes: list[str]
    clusters: list[str]
    response_attributes: list[str]
    licence: str | None
    source: str | None
    note: str | None


class Datasets(msgspec.Struct):
    """Answer of ``/api/v1/datasets``, in order of import."""

    datasets: list[Dataset]


def datasets(snapshot: Snapshot) -> Datasets:
    """Return every dataset of the store."""
    return Datasets([describe_dataset(snapshot, name) for name in snapshot.states])


def describe_dataset(snapshot: Snapshot, name: str) -> Dataset:
    """Return a dataset with its counts."""
    (row,) = snapshot.frame(
        """
        select d.dataset, d.title, d.kind, d.simulated,
            (select count(*) from questions q where q.dataset = d.dataset) as questions,
            (select count(*) from runs r where r.dataset = d.dataset and r.withdrawn_at is null) as runs,
            (select count(distinct team) from exposures e where e.dataset = d.dataset and e.team_kind = 'human') as human_teams,
            (select count(*) from buzzes b where b.dataset = d.dataset and b.team_kind = 'human') as human_buzzes,
            (select coalesce(sum(votes), 0)::bigint from votes v where v.dataset = d.dataset) as votes,
            (select count(distinct question_id) from votes v where v.dataset = d.dataset and votes > 0) as voted,
            (select coalesce(list_sort(list(distinct category)), []) from questions q
                where q.dataset = d.dataset and category is not null) as categories,
            (select coalesce(list_sort(list(distinct radius)), []) from questions q
                where q.dataset = d.dataset and radius is not null) as radii,
            (select coalesce(list_sort(list(distinct attribute)), []) from attributes a
                where a.dataset = d.dataset) as attributes,
            (select coalesce(list_sort(list(distinct attribute)), []) from response_attributes a
                join runs r using (dataset, run) where a.dataset = d.dataset and r.withdrawn_at is null) as response_attributes,
            d.licence, d.source, d.note
        from datasets d where d.dataset = $d""",
        {"d": name},
    ).to_dicts()
    return Dataset(**row, clusters=[*offered_clusters(snapshot, name)])
