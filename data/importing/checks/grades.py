"""Correctness: as the file states it, as the analyst decided, or as guesses are graded."""

from __future__ import annotations

import polars as pl

from data.frames import ArrowStream
from data.importing.contract import SHOWN
from data.importing.grading import grade_guesses
from data.importing.report import KEPT, Problem
from data.importing.staging import ImportOptions, Staging

GRADED_AT_ONCE = 50_000  # guesses
DECISIONS = "grades"  # what the analyst's decisions are called where one is wrong; its "line" is its place among them


def decide(staging: Staging, options: ImportOptions) -> None:
    """``decided``: which answers the analyst decided; ``grade`` takes it for what the file would state."""
    run = staging.connection.execute
    run("""create table decisions (nth integer, question_id varchar, clue integer, guess varchar, correct double);
        create table decided (nth integer, file integer, ordinal bigint, correct double);
        create view answers as select a.*, q.dataset, q.question_id from answered a join asked q on q.n = a.question""")
    if not options.decisions:
        return
    rows = [(nth, d.question_id, d.clue, d.guess or None, d.correct) for nth, d in enumerate(options.decisions, start=1)]
    schema = {"nth": pl.Int32, "question_id": pl.String, "clue": pl.Int32, "guess": pl.String, "correct": pl.Float64}
    found = ArrowStream(pl.DataFrame(rows, schema=schema, orient="row"))
    run("insert into decisions by name select * from found")
    del found
    run("""insert into decided by name select d.nth, a.file, a.ordinal, d.correct from decisions d join answers a
        on a.question_id = d.question_id and a.guess is not distinct from d.guess and (d.clue is null or a.clue = d.clue)""")
    its_row = "join answers a on a.file = x.file and a.ordinal = x.ordinal"
    for reason, wrong in (
        ("no answer of the file has this question, clue and guess", "select nth from decisions anti join decided using (nth)"),
        ("the file states whether this is correct", f"select nth from decided x {its_row} where a.correct is not null"),
        ("the life table grades this, as a probability",
         f"select nth from decided x {its_row} join datasets d on d.dataset = a.dataset where d.kind = 'lifeeval'"),
        ("another decision is about the same answer",
         "select max(nth) as nth from decided group by file, ordinal having count(distinct nth) > 1"),
    ):  # fmt: skip
        bad = run(
            f"""select nth, question_id, guess[:{SHOWN}], count(*) over () from decisions
            where nth in ({wrong}) order by nth limit {KEPT}"""
        ).fetchall()
        for nth, question, guess, _ in bad:
            staging.report.problems.append(Problem(DECISIONS, nth, "guess", guess, f"{reason} (question {question!r})"))
        staging.report.more += bad[0][3] - len(bad) if bad else 0
    staging.report.stop_if_bad()


def grade(staging: Staging) -> None:
    """``settled``: the answers with their correctness, whoever said it."""
    run = staging.connection.execute
    if not run("select 1 from answered where correct is null limit 1").fetchone():
        run("create view settled as select *, 'file' as graded, correct as stated, false as decided from answered")
        return
    run("create table grades (dataset varchar, question_id varchar, guess varchar, correct double, graded varchar)")
    with staging.connection.cursor() as reading:
        reading.execute("use scratch")
        reading.execute(
            """select distinct d.kind, a.dataset, a.question_id, a.guess, q.answer, q.sex, q.minimum_age, q.radius from answers a
            join datasets d using (dataset) join questions q using (dataset, question_id)
            anti join decided x on x.file = a.file and x.ordinal = a.ordinal where a.correct is null"""
        )
        while asked := reading.fetchmany(GRADED_AT_ONCE):
            found = ArrowStream(grade_guesses(asked))
            run("insert into grades by name select * from found")
            del found
    run("""
        create table graded_answers as
        select a.* exclude (row, dataset, question_id, correct), coalesce(a.correct, x.correct, g.correct) as correct,
            coalesce(a.correct, x.correct) as stated, x.ordinal is not null as decided,
            case when decided then 'person' when a.correct is not null then 'file' else g.graded end as graded
        from answers a left join decided x on x.file = a.file and x.ordinal = a.ordinal
        left join grades g on a.correct is null and x.ordinal is null and g.dataset = a.dataset and g.question_id = a.question_id
            and g.guess is not distinct from a.guess
        order by answerer, question, clue""")
    staging.flag(
        "graded_answers", "correct", "s.guess",
        "'the file does not say whether this is correct, and the question has no answer to grade it by'", "where correct is null",
    )  # fmt: skip
    run("create view settled as select rowid as row, * from graded_answers")
