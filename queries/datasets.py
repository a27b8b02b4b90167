"""Datasets: what they hold, the bundle that gives them again, and the prompts that a model has to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
import polars as pl

from clueline.data.duckdb_and_polars import literal, quoted
from clueline.data.importing.table_contract import QUESTIONS as COLUMNS
from clueline.data.store import Snapshot
from clueline.data.store.query_to_file import Form, Table
from clueline.queries.runs import responses
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import offered_clusters
from clueline.queries.selection.parameter_kinds import BadRequest


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


COMPUTED = {
    "answer": "case when q.answer is distinct from most.answer then q.answer end as answer",
    "difficulty": "q.given_difficulty as difficulty",
}
# An answer that the importer would derive from votes (the most frequent class, the earlier one if tied) is left blank.
QUESTIONS = f"""
    with most as (
        select question_id, first(class order by votes desc, coalesce(list_position(classes, class), 0), class) as answer
        from votes join datasets using (dataset) where dataset = {{dataset}} and votes > 0 group by all
    )
    select {", ".join(COMPUTED.get(column.name, f"q.{column.name}") for column in COLUMNS)}{{attributes}}
    from questions q left join most using (question_id) where q.dataset = {{dataset}} order by q.position"""
CLUES = """
    select c.question_id, c.clue, c.text, c.word_end from clues c join questions q using (dataset, question_id)
    where c.dataset = $dataset order by q.position, c.clue"""
# What people did: columns that order the rows of a table, and the others.
OF_PEOPLE = {
    "exposures": ("question_id, match_id, team", "team_kind, heard_words, ended_by, end_stated"),
    "buzzes": ("question_id, match_id, team", "word, correct, guess"),
    "left_out_plays": ("question_id, match_id, reason", "plays"),
}
VOTES = """
    select v.question_id, v.class, v.votes from votes v join questions q using (dataset, question_id)
    where v.dataset = $dataset order by q.position, v.class"""
OF_RUNS = {
    "corrections": """
        select r.model, coalesce(r.stated_elicitation, r.elicitation) as elicitation, r.evaluated_at, c.question_id, c.clue,
            c.guess, c.correct, c.corrected_at, c.corrected_by, c.note
        from corrections c join runs r using (dataset, run) where r.dataset = $dataset and r.withdrawn_at is null
        order by r.position, c.number""",
    "tags": """
        select r.model, coalesce(r.stated_elicitation, r.elicitation) as elicitation, r.evaluated_at, t.tag, t.value
        from tags t join runs r using (dataset, run)
        where r.dataset = $dataset and r.withdrawn_at is null order by r.position, t.tag""",
}


@dataclass(frozen=True)
class Bundle:
    """The content of dataset.json, and rows by path in the bundle, without file extension. Withdrawn runs are only counted."""

    facts: Mapping[str, object]
    tables: Mapping[str, Table]
    runs: int
    withdrawn: int


def bundle(snapshot: Snapshot, dataset: str, form: Form) -> Bundle:
    """Return the bundle of a dataset, without the provenance of runs; lists are JSON text in CSV.

    Importing it into an empty store gives the same run ids and metrics. Raises ``BadRequest`` for an unknown dataset.
    """
    rows = snapshot.frame(
        "select dataset, title, kind, licence, source, simulated, note, classes from datasets where dataset = $d", {"d": dataset}
    ).to_dicts()
    if not rows:
        raise BadRequest("unknown_value", f"There is no dataset {dataset!r}.", "dataset", list(snapshot.states))
    parameters = {"dataset": dataset}
    questions = QUESTIONS.format(dataset=literal(dataset), attributes=_attributes(snapshot, dataset))
    tables = {"questions": Table(questions, {}), "clues": Table(CLUES, parameters)}

    def add_unless_empty(**further: str) -> None:
        for name, sql in further.items():
            if snapshot.rows(f"select 1 from ({sql}) limit 1", parameters):
                tables[name] = Table(sql, parameters)

    of_people = {
        table: f"select {keys}, {others} from {table} where dataset = $dataset order by {keys}"
        for table, (keys, others) in OF_PEOPLE.items()
    }
    add_unless_empty(**of_people, votes=VOTES)
    runs = snapshot.rows("select run, withdrawn_at is null from runs where dataset = $d order by position", {"d": dataset})
    kept = [run for run, counts in runs if counts]
    for number, run in enumerate(kept, start=1):  # files are imported in the order of their names, which fixes the runs' colours
        tables[f"responses/{number:04d}-{run}"] = responses(snapshot, run, form)
    add_unless_empty(**OF_RUNS)
    facts = {key: value for key, value in rows[0].items() if value is not None}
    return Bundle(facts, tables, len(kept), len(runs) - len(kept))


def _attributes(snapshot: Snapshot, dataset: str) -> str:
    """Return the SQL of a column for each attribute of the questions."""
    names = snapshot.rows("select distinct attribute from attributes where dataset = $d order by 1", {"d": dataset})
    return "".join(
        f""",
        (select value from attributes a where a.dataset = q.dataset and a.question_id = q.question_id
            and a.attribute = {literal(name)}) as {quoted(name)}"""
        for (name,) in names
    )


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
