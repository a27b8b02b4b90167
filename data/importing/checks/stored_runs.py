"""Incoming runs beside the stored ones of the same dataset, model and elicitation.

The id of a run depends on the grades that its file states, so that answers which another grader graded have another id. They are
no other run: their grades become a further grading of the stored one. A run of other answers stays a run of its own, for a run
never changes, and a warning says that there are two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from data.duckdb_and_polars import execute
from data.importing.run_gradings import SAME_PLACE, grades_sql
from data.importing.staging import RunKey, Staging
from data.store.gradings import GRADED, REVIEWED, grading_name
from data.store.run_files import StoredObject, graded_kind, stored_objects

# What an answer is, beside its place. Maps are compared as text.
ANSWER = ("s.guess", "s.confidence", "s.token_logprobs", "s.options", "s.option_names", "s.failed", "s.buzz",
          "to_json(s.attributes)")  # fmt: skip


class Overlap(NamedTuple):
    """Answers of an incoming run and a stored one to the same questions, clues and samples, and how many of them differ."""

    shared: int
    differing: int


def runs_of_name(staging: Staging, key: RunKey) -> list[StoredObject]:
    """The responses of the stored runs of a name, in the order of imports; not of withdrawn runs."""
    sql = """select run from store.runs where dataset = $dataset and model = $model and elicitation = $elicitation
        and withdrawn_at is null order by position"""
    runs = [run for (run,) in execute(staging.connection, sql, key._asdict()).fetchall()]
    return _stored(staging, "responses", runs)


def run_with_same_answers(staging: Staging, number: int, rows: int, parts: Sequence[StoredObject]) -> str | None:
    """The first stored run whose answers are those of an incoming one, whatever their grades.

    Args:
        staging: with ``responses_graded``.
        number: of the incoming run.
        rows: how many it has.
        parts: the responses of the stored runs of its name.
    """
    for part in parts:
        if part.rows == rows and _overlap(staging, number, part) == Overlap(rows, 0):
            return part.run
    return None


def warn_of_name(staging: Staging, number: int, run: str, parts: Sequence[StoredObject]) -> None:
    """Warn that a new run has the name of stored ones, and say how far its answers are those of the last of these."""
    if not parts:
        return
    last, count = parts[-1], len(parts)
    overlap = _overlap(staging, number, last)
    if overlap is None:
        return
    shared, differing = overlap
    stored = f"run {last.run}" if count == 1 else f"{count:,} runs, the last of which, {last.run},"
    how = "" if not differing else f", {differing:,} of these otherwise"
    what = f"{shared:,} of the same questions and clues{how}" if shared else "other questions or clues alone"
    staging.report.warn(
        f"run {run} is a run of its own: of the same dataset, model and elicitation, the store has {stored} which answers {what}",
        "one_run",
    )


def add_gradings_to_stored(staging: Staging, number: int, run: str, name: str | None) -> list[str]:
    """Note in ``added_gradings`` which gradings of an incoming run a stored run with the same answers lacks.

    Args:
        staging: with ``responses_graded``.
        number: of the incoming run.
        run: id of the stored one.
        name: of the grades that the file states of themselves; None where these are those that the stored run came with.

    Returns:
        What becomes of each grading, in parts of a sentence.
    """
    connection = staging.connection
    given = execute(
        connection,
        """select distinct g.name from grades_read g join responses_graded s on s.file = g.file and s.ordinal = g.ordinal
        where s.run_number = $number and g.correct is not null order by 1""",
        {"number": number},
    ).fetchall()
    columns: list[tuple[str, str | None]] = [(column, column) for (column,) in given]
    stated = "select 1 from responses_graded where run_number = $number and stated is not null and not failed limit 1"
    if name is not None and execute(connection, stated, {"number": number}).fetchone():
        columns.insert(0, (name, None))
    parts = _stored(staging, "responses", [run]) if columns else []
    if not parts or staging.objects is None:
        return []
    names = execute(connection, "select name from store.gradings where run = $run order by position", {"run": run})
    kept = [grading for (grading,) in names.fetchall()]
    known = {}
    for grading in kept:
        if grading not in (GRADED, REVIEWED):  # opinions of Clueline and of reviewers, not of a file
            grades = {part.run: part for part in _stored(staging, graded_kind("grades", grading), [run])}
            known[grading] = staging.objects.graded_responses(parts, grades)
    becomes = []
    for wanted, column in columns:
        sql = grades_sql(number, column)
        same = next((grading for grading, rows in known.items() if _agree(staging, sql, rows)), None)
        if same is not None:
            becomes.append(f"with the grades of {wanted!r} as {same!r}" if same != wanted else f"with {same!r}")
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
        becomes.append(f"gets the grading {free!r}")
        other = f", for it has other grades called {wanted!r}" if free != wanted else ""
        staging.report.warnings.append(f"run {run} has these answers already: the grades are added to it as {free!r}{other}")
    return becomes


def _stored(staging: Staging, kind: str, runs: Sequence[str]) -> list[StoredObject]:
    with staging.connection.cursor() as reading:
        reading.execute("use store")
        return stored_objects(reading, kind, runs=runs)


def _overlap(staging: Staging, number: int, part: StoredObject) -> Overlap | None:
    """How far the answers of an incoming run are those of a stored one; None where these are damaged, and cannot be compared."""
    if staging.objects is None or [*staging.objects.damages([part])]:
        return None
    differs = " or ".join(f"{column} is distinct from {column.replace('s.', 'r.')}" for column in ANSWER)
    sql = f"""select count(*), count(*) filter ({differs})
        from (select s.*, q.question_id from responses_graded s join numbered_questions q on q.n = s.question_number
            where s.run_number = {number}) s
        join {staging.objects.relation("responses", [part])} r on {SAME_PLACE.format("s")}"""
    return Overlap(*staging.connection.execute(sql).fetchall()[0])


def _agree(staging: Staging, grades: str, rows: str) -> bool:
    """Whether grades, in SQL, are those of stored responses."""
    sql = f"""select 1 from {rows} r join ({grades}) g on {SAME_PLACE.format("g")}
        where not r.failed and g.correct <> r.correct limit 1"""
    return staging.connection.execute(sql).fetchone() is None
