"""Comparison of incoming runs with the stored runs of the same dataset, model and elicitation.

The id of a run depends on the grades that its file states. So the same answers from another grader have another id, but become a
further grading of the stored run. A run with different answers is stored separately, because a run never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from clueline.data.duckdb_and_polars import execute
from clueline.data.importing.run_gradings import SAME_PLACE, grades_sql
from clueline.data.importing.staging import RunKey, Staging
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.gradings import GRADED, REVIEWED, grading_name
from clueline.data.store.run_files import StoredObject, graded_kind, stored_objects
from clueline.data.store.run_tags import DATE

# The columns that make up an answer, apart from its place. Maps are compared as text.
ANSWER = ("s.guess", "s.confidence", "s.token_logprobs", "s.options", "s.option_names", "s.failed", "s.state", "s.buzz",
          "to_json(s.attributes)")  # fmt: skip


class Overlap(NamedTuple):
    """How many answers of an incoming and a stored run share question, clue and sample, and how many of these differ."""

    shared: int
    differing: int


def runs_of_name(staging: Staging, key: RunKey, evaluated_at: datetime | None) -> list[StoredObject]:
    """Return the responses of stored runs, in the order of import. Withdrawn runs and those of another day are left out.

    A run of which no day is known can be of any.
    """
    tagged = f"(select value from store.tags t where t.run = r.run and t.tag = '{DATE}')"
    sql = f"""select run from store.runs r where dataset = $dataset and model = $model and elicitation = $elicitation
        and withdrawn_at is null
        and coalesce(coalesce(evaluated_at::date, try_cast({tagged} as date)) = $at::timestamp::date, true) order by position"""
    runs = [run for (run,) in execute(staging.connection, sql, key._asdict() | {"at": evaluated_at}).fetchall()]
    return _stored(staging, "responses", runs)


def run_with_same_answers(staging: Staging, number: int, rows: int, parts: Sequence[StoredObject]) -> str | None:
    """Return the id of the first stored run with the same answers, whatever their grades; None if there is none."""
    for part in parts:
        if part.rows == rows and _overlap(staging, number, part) == Overlap(rows, 0):
            return part.run
    return None


def warn_of_name(staging: Staging, number: int, run: str, parts: Sequence[StoredObject], *, dated: bool) -> None:
    """Warn that the store has runs with the dataset, model and elicitation of a new one, and how far the last of them agrees."""
    if not parts:
        return
    last, count = parts[-1], len(parts)
    overlap = _overlap(staging, number, last)
    if overlap is None:
        return
    shared, differing = overlap
    stored = f"run {last.run}," if count == 1 else f"{count:,} runs, the last of them run {last.run},"
    how = "" if not differing else f", {differing:,} of them differently"
    what = f"{shared:,} of the same questions and clues{how}" if shared else "only other questions or clues"
    when = "" if dated else ". Nothing says when it was evaluated: its day is that of the import, unless the tag `date` says it"
    staging.report.warn(
        f"run {run} is a separate run: for the same dataset, model and elicitation, the store has {stored} which answers {what}"
        f"{when}",
        "one_run",
    )


def add_gradings_to_stored(staging: Staging, number: int, run: str, name: str | None) -> list[str]:
    """Record in ``added_gradings`` which gradings of an incoming run a stored run with the same answers lacks.

    ``name`` is for the grades in the file's column ``correct``; None if the stored run has the same ones. Returns what happens to
    each grading, in parts of a sentence.
    """
    connection = staging.connection
    sql = """select distinct g.name from grades_read g join responses_graded s on s.file = g.file and s.ordinal = g.ordinal
        where s.run_number = $number and g.correct is not null order by 1"""
    given = execute(connection, sql, {"number": number}).fetchall()
    columns: list[tuple[str, str | None]] = [(column, column) for (column,) in given]
    stated = f"""select 1 from responses_graded
        where run_number = $number and stated is not null and not {among_states(NEVER_RIGHT)} limit 1"""
    if name is not None and execute(connection, stated, {"number": number}).fetchone():
        columns.insert(0, (name, None))
    parts = _stored(staging, "responses", [run]) if columns else []
    if not parts:
        return []
    names = execute(connection, "select name from store.gradings where run = $run order by position", {"run": run})
    kept = [grading for (grading,) in names.fetchall()]
    known = {}
    for grading in kept:
        if grading not in (GRADED, REVIEWED):  # opinions of Clueline and of reviewers, not of a file
            grades = {part.run: part for part in _stored(staging, graded_kind("grades", grading), [run])}
            known[grading] = staging.objects.graded_responses(parts, grades)
    outcomes = []
    for wanted, column in columns:
        sql = grades_sql(number, column)
        same = next((grading for grading, rows in known.items() if _agree(staging, sql, rows)), None)
        if same is not None:
            outcomes.append(f"with the grades of {wanted!r} as {same!r}" if same != wanted else f"with {same!r}")
            continue
        free = grading_name(wanted, kept)
        kept.append(free)
        known[free] = f"(select *, false as failed from ({sql}))"
        execute(
            connection,
            "insert into added_gradings select $number, dataset, run, $name, $column from store.runs where run = $run",
            {"number": number, "name": free, "column": column, "run": run},
        )
        staging.report.gradings.append((run, free))
        outcomes.append(f"gets the grading {free!r}")
        other = f", because it has different grades called {wanted!r}" if free != wanted else ""
        staging.report.warnings.append(f"run {run} has these answers already: the grades are added to it as {free!r}{other}")
    return outcomes


def _stored(staging: Staging, kind: str, runs: Sequence[str]) -> list[StoredObject]:
    with staging.connection.cursor() as reading:
        reading.execute("use store")
        return stored_objects(reading, kind, runs=runs)


def _overlap(staging: Staging, number: int, part: StoredObject) -> Overlap | None:
    if [*staging.objects.damages([part])]:
        return None
    differs = " or ".join(f"{column} is distinct from {column.replace('s.', 'r.')}" for column in ANSWER)
    sql = f"""select count(*), count(*) filter ({differs})
        from (from responses_graded where run_number = {number}) s
        join {staging.objects.relation("responses", [part])} r on {SAME_PLACE.format("s")}"""
    return Overlap(*staging.connection.execute(sql).fetchall()[0])


def _agree(staging: Staging, grades: str, rows: str) -> bool:
    """Whether grades, given as SQL, equal those of stored responses. Failed calls do not count."""
    sql = f"""select 1 from {rows} r join ({grades}) g on {SAME_PLACE.format("g")}
        where not r.failed and g.correct <> r.correct limit 1"""
    return staging.connection.execute(sql).fetchone() is None
