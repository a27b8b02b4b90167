"""Grades of guesses: by the rules, by the file, and several gradings of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import nan
from typing import Any

import duckdb
import numpy as np
import polars as pl

from clueline.data.dataset_kinds import FORECAST, outcome
from clueline.data.duckdb_and_polars import execute, execute_with, literal
from clueline.data.importing.staging import OF_RUN, Staging
from clueline.data.life_table import SEXES, probability_within
from clueline.data.plurals import counted
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.store import Store, gradings, run_statistics
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.audit import new_event
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.gradings import GRADED, IMPORTED
from clueline.data.store.run_files import Objects, StoredObject, stored_objects

# SQL for what ``grade_guesses`` grades: the distinct guesses of a relation of responses, s.
GUESSES = """select distinct d.kind, s.dataset, s.question_id, s.guess, q.answer, q.sex, q.minimum_age, q.radius
    from {} s join datasets d using (dataset) join questions q using (dataset, question_id)"""
# SQL condition that the rules grade the guess of a response s to a question q of a dataset d.
COVERED = f"""s.guess is not null and not {among_states(NEVER_RIGHT, "s")} and d.kind <> 'votes'
    and (q.answer is not null or d.kind = 'lifeeval')"""
SCHEMA = {"dataset": pl.String, "question_id": pl.String, "guess": pl.String, "correct": pl.Float64, "graded": pl.String}


def doubt(line: str, guess: str | None) -> str | None:
    """Return why a person should review the grade of a guess; None if the grade is clear."""
    verdict, rule = parse_answer_line(line).judge(guess)
    return rule if verdict == "review" else None


def grade_guesses(guesses: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Grade the rows of ``GUESSES``.

    Returns ``dataset, question_id, guess, correct, graded``. ``correct`` is in [0, 1], of a forecast the outcome, null if the
    question has no answer to grade by. ``graded`` is ``table`` (LifeEval: p(guess, radius | age, sex)), ``answer`` or ``prompt``,
    null without a grade.
    """
    guesses = list(guesses)
    of_table = _table_grades([row[3:4] + row[5:] for row in guesses if row[0] == "lifeeval"])
    rows: list[tuple[str, str, str | None, float | None, str | None]] = []
    for kind, dataset, question, guess, answer, sex, age, radius in guesses:
        correct: float | None = None
        graded: str | None = None
        if kind == FORECAST:
            correct = outcome(answer)
            graded = None if correct is None else "answer"
        elif kind == "lifeeval":
            correct, graded = of_table[guess, sex, age, radius], "table"
        elif answer is not None:
            verdict = parse_answer_line(answer).grade(guess)
            correct, graded = float(verdict == "accept"), "prompt" if verdict == "prompt" else "answer"
        rows.append((dataset, question, guess, correct, graded))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _table_grades(rows: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], float]:
    """Return the probability that each guess is right, by guess, sex, minimum age and radius; 0 for a guess that is no age."""
    grades = dict.fromkeys(rows, 0.0)
    for sex in SEXES:
        those = [row for row in grades if row[1] == sex and abs(_years(row[0])) < 1e6]
        ages, radii = np.array([row[2] for row in those], int), [row[3] for row in those]
        grades |= zip(those, probability_within([_years(row[0]) for row in those], radii, ages, sex).tolist(), strict=True)
    return grades


def _years(guess: str | None) -> float:
    try:
        return float(guess or "nan")
    except ValueError:
        return nan


# SQL condition that a row of an incoming run has the same place as a row of a stored run, called r.
SAME_PLACE = "{0}.question_id = r.question_id and {0}.clue = r.clue and {0}.sample is not distinct from r.sample"
MAX_GRADED = 30_000  # distinct guesses of a run that an import grades in addition to the file's grades: about three seconds
MAX_STORED = 1_000_000  # distinct guesses of a stored run: more would not fit into memory


class TooManyGuesses(Exception):
    """A run has more distinct guesses than can be graded at once."""


def add_gradings(staging: Staging, objects: Objects, by: str | None = None) -> None:
    """Add the gradings of new runs to an unpublished catalogue, and report where Clueline's rules and the files disagree.

    The responses must be stored. With ``by``, the token of an upload, authors of corrections are marked as stated by the
    uploader.
    """
    connection = staging.connection
    run = connection.execute
    run(f"""insert into gradings by name
        select r.dataset, r.run, if(bool_or(s.graded = 'file'), '{IMPORTED}', '{GRADED}') as name, 0 as position,
            'import' as source
        from scratch.responses_graded s join scratch.runs_to_store r on r.n = s.run_number group by all order by min(s.row)""")
    given = run("""
        select r.run, g.name, r.n from scratch.grades_read g
        join scratch.responses_graded s on s.file = g.file and s.ordinal = g.ordinal
        join scratch.runs_to_store r on r.n = s.run_number where g.correct is not null group by all order by all""").fetchall()
    for name, grading, number in given:
        (part,) = stored_objects(connection, "responses", runs=[name])
        gradings.add_grading(connection, objects, part, grading, "column", grades_sql(number, grading))
    # Without an answer, a question has no rules to grade by. Each question that has one takes at least one guess.
    sql = f"""select run, count(distinct s.question_number)
        from scratch.responses_graded s join scratch.runs_to_store r on r.n = s.run_number
        join gradings g using (run) join datasets d on d.dataset = g.dataset
        join questions q on q.dataset = g.dataset and q.question_id = s.question_id
        where g.name = '{IMPORTED}' and g.position = 0 and {COVERED} group by run, r.n order by r.n"""
    for name, questions in run(sql).fetchall():
        (part,) = stored_objects(connection, "responses", runs=[name])
        try:
            if questions > MAX_GRADED:
                raise TooManyGuesses
            count = grade_by_rules(connection, objects, part, MAX_GRADED)
        except TooManyGuesses:
            line = f"more than {MAX_GRADED:,} different guesses, too many to be graded by Clueline's rules as well"
            staging.report.lines.append(f"run {name}: {line}")
            continue
        if count:
            answers = counted(part.rows, "answer")
            line = f"Clueline's rules grade {count:,} of {answers} differently from the file; both gradings are kept"
            staging.report.lines.append(f"run {name}: {line}")
    sql = f"""insert into corrections by name
        select r.dataset, r.run, (row_number() over (partition by r.run order by c.file, c.ordinal))::integer as number,
            c.question_id, c.clue, c.guess, c.correct, c.corrected_at,
            if($by is null, c.corrected_by, concat_ws(', ', c.corrected_by, 'as uploaded by ' || $by)) as corrected_by, c.note
        from scratch.corrections_read c join scratch.numbered_runs n on {OF_RUN.format("c")}
        join scratch.runs_to_store r on r.n = n.n anti join corrections known on known.run = r.run"""
    execute(connection, sql, {"by": by})
    gradings.review(connection, objects, [name for (name,) in run("select run from scratch.runs_to_store order by n").fetchall()])


def grades_sql(number: int, column: str | None) -> str:
    """Return SQL for the grades of an incoming run, in the order of its responses. Without ``column``, they are ``correct``."""
    chosen = "select null as file, null as ordinal, null as correct limit 0"
    if column is not None:
        chosen = f"from scratch.grades_read where name = {literal(column)}"
    never = among_states(NEVER_RIGHT, "s")
    return f"""select s.question_id, s.clue, s.sample, if({never}, s.correct, coalesce(g.correct, s.correct)) as correct,
            if({never} or g.correct is null, s.graded, 'file') as graded
        from scratch.responses_graded s left join ({chosen}) g on g.file = s.file and g.ordinal = s.ordinal
        where s.run_number = {number} order by s.row"""


def add_to_stored(staging: Staging, objects: Objects, by: str | None = None) -> list[tuple[str, str]]:
    """Add the gradings that stored runs get from an import, and return run and name of each. Statistics are not computed."""
    connection = staging.connection
    rows = connection.execute('select number, run, name, "column" from scratch.added_gradings order by rowid').fetchall()
    for number, run, name, column in rows:
        (part,) = stored_objects(connection, "responses", runs=[run])
        stored = objects.relation("responses", [part], numbered=True)
        sql = f"""select r.question_id, r.clue, r.sample, g.correct, g.graded
            from {stored} r join ({grades_sql(number, column)}) g on {SAME_PLACE.format("g")} order by r.file_row_number"""
        gradings.add_grading(connection, objects, part, name, "added", sql)
        sql = """update gradings set added_at = make_timestamp(epoch_us(now())), added_by = $by
            where run = $run and name = $name"""
        execute(connection, sql, {"by": by, "run": run, "name": name})
    return [(run, name) for _, run, name, _ in rows]


def grade_by_rules(connection: duckdb.DuckDBPyConnection, objects: Objects, part: StoredObject, most: int) -> int | None:
    """Add the grading of Clueline's rules to a run whose file states grades. Its statistics are not computed.

    Responses that the rules do not cover keep the grade of the file: empty guesses, and questions without an answer. Returns the
    number of responses whose grades differ; None if the rules cover none. Raises ``TooManyGuesses`` for more than ``most``
    distinct ones.
    """
    relation, never = objects.relation("responses", [part], numbered=True), among_states(NEVER_RIGHT, "r")
    guesses = connection.execute(f"{GUESSES.format(relation)} where {COVERED} limit {most + 1}").fetchall()
    if not guesses or len(guesses) > most:
        gradings.remove_grading(connection, part.run, GRADED)
        if guesses:
            raise TooManyGuesses
        return None
    grades = "create or replace temp table rule_grades as from given where correct is not null"
    execute_with(connection, grade_guesses(guesses), grades)
    matching = f"rule_grades g on g.question_id = r.question_id and g.guess = case when not {never} then r.guess end"
    differs: int = connection.execute(
        f"select count(*) from {relation} r join {matching} where g.correct <> r.correct"
    ).fetchall()[0][0]
    sql = f"""select r.question_id, r.clue, r.sample, coalesce(g.correct, r.correct) as correct,
            coalesce(g.graded, r.graded) as graded
        from {relation} r left join {matching} order by r.file_row_number"""
    gradings.add_grading(connection, objects, part, GRADED, "rules", sql if differs else None)
    connection.execute("drop table rule_grades")
    return differs


def renew_gradings(connection: duckdb.DuckDBPyConnection, objects: Objects, dataset: str) -> None:
    """Renew the gradings of a dataset that depend on its questions: those by rules. Statistics are not computed."""
    graded = connection.execute(
        "select run from gradings where dataset = $d and name = $name and position > 0", {"d": dataset, "name": GRADED}
    ).fetchall()
    for part in stored_objects(connection, "responses", runs=[run for (run,) in graded]):
        with suppress(TooManyGuesses):
            grade_by_rules(connection, objects, part, MAX_STORED)


def grade_run(store: Store, run: str, by: str | None) -> int | None:
    """Grade a stored run whose file states grades by Clueline's present rules, and compute its grading ``reviewed`` again.

    ``reviewed`` depended on the rules in earlier versions of Clueline. Returns the number of responses whose grades differ from
    the file's; None if the rules cover none, or if the run's own grading is already that of the rules. Raises ``NoSuchRun`` or
    ``StoreError``.
    """
    dataset = gradings.dataset_of(store.snapshot().connection, run)
    with store.adding_objects() as objects:

        def change(connection: duckdb.DuckDBPyConnection) -> int | None:
            gradings.dataset_of(connection, run)  # it may have been deleted meanwhile
            own = connection.execute("select name from gradings where run = $run and position = 0", {"run": run}).fetchall()
            if own == [(GRADED,)]:
                return None
            (part,) = stored_objects(connection, "responses", runs=[run])
            differs = grade_by_rules(connection, objects, part, MAX_STORED)
            gradings.review(connection, objects, [run])
            for name in (GRADED, gradings.REVIEWED):
                run_statistics.derive(connection, objects, dataset, [run], [name])
            renew_revisions(connection, [dataset])
            return differs

        return store.write(change, lambda differs: [new_event("graded", by, dataset=dataset, run=run)])
