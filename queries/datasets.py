"""The list of datasets in the store."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.selection.clusters import offered_clusters


class Dataset(msgspec.Struct):
    """One dataset, as the list of datasets shows it.

    Attributes:
        questions: number of questions.
        runs: number of runs that are not withdrawn.
        human_teams, human_buzzes: number of human teams and of their buzzes.
        votes: number of votes.
        voted: number of questions on which people voted.
        categories: of its questions, sorted.
        radii: of its questions in years, ascending.
        attributes: names of what its questions state beyond the standard columns.
        clusters: what can be the unit of intervals and tests (the key ``cluster``), the default first.
        response_attributes: names of what the responses of its runs state beyond the standard columns.
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
    """Return a dataset with its counts; withdrawn runs are not counted."""
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
