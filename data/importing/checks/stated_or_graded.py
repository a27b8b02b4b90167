"""The correctness of responses: stated in the file, perhaps several times, decided by the analyst, or graded by the question."""

from __future__ import annotations

import polars as pl

from clueline.data.duckdb_and_polars import execute_with, first_rows, literal
from clueline.data.importing.report import MAX_LISTED_PROBLEMS, Problem
from clueline.data.importing.run_gradings import GUESSES, grade_guesses
from clueline.data.importing.staging import ImportOptions, Repeats, Staging
from clueline.data.importing.table_contract import MAX_SHOWN_LENGTH
from clueline.data.store.answer_states import NEVER_RIGHT, among_states, state_sql
from clueline.data.store.gradings import NAME, RESERVED

BATCH = 50_000  # guesses graded at a time
DECISIONS = "grades"  # reports treat the analyst's decisions as a file of this name; a line is the number of a decision


MAX_GRADERS = 20  # values of a column that can name gradings
# The rows of one answer, and what is the same in all of them if they differ only in the grade.
ANSWER = "dataset, model, elicitation, evaluated_at, question_id, coalesce(clue, 0), coalesce(sample, '')"
SAME = "guess, confidence, token_logprobs, options, failed, state, buzz"


def resolve_repeats(staging: Staging, repeats: Repeats) -> None:
    """Make several rows of a run about one question samples of it, or further gradings of the first of them.

    Gradings are named after the attribute that differs within all such rows, such as the name of a grader; without one, they are
    called ``grade-2`` and so on. Rows with another answer than the first are reported.
    """
    run = staging.connection.execute
    staging.copy_responses()
    grader = _grader(staging) if repeats == "gradings" else None
    by = f"attributes[{literal(grader)}], " if grader else ""
    run(f"""create or replace table repeats as
        select file, ordinal, times, row_number() over ordered as nth, correct,
            {f"attributes[{literal(grader)}]" if grader else "null::varchar"} as grader,
            first_value(file) over ordered as first_file, first_value(ordinal) over ordered as first_ordinal,
            row({SAME}) is distinct from first_value(row({SAME})) over ordered as differs,
            max(times) over (partition by dataset, model, elicitation) as most
        from (select *, count(*) over (partition by {ANSWER}) as times from copied_responses)
        window ordered as (partition by {ANSWER} order by {by}file, ordinal)""")
    of_row = "r.file = s.file and r.ordinal = s.ordinal"
    if repeats == "samples":
        run(f"""update copied_responses s set sample = concat_ws(', ', s.sample, r.nth::varchar)
            from repeats r where {of_row} and r.most > 1""")
        return
    reason = "'this row has another answer to the question than an earlier one, not only another grade'"
    others = f"join (from repeats where differs) r on {of_row}"
    if staging.report_rows("copied_responses", "question_id", reason, others, "repeats"):
        staging.report.raise_problems()
    name = "coalesce(lower(grader), 'grade-' || nth)"
    run(f"""insert into grades_read by name
        select {name} as name, correct, first_file as file, first_ordinal as ordinal from repeats where nth > 1""")
    run(f"delete from copied_responses s using repeats r where {of_row} and r.nth > 1")
    names = [text for (text,) in run(f"select distinct {name} from repeats where nth > 1 order by 1").fetchall()]
    if grader:
        entries = f"list_filter(map_entries(attributes), lambda e: e.key <> {literal(grader)})"
        run(f"update copied_responses set attributes = case when len({entries}) > 0 then map_from_entries({entries}) end")
    first = f"the first by {grader}" if grader else "the first"
    staging.report.lines.append(f"of several grades of an answer, {first} counts; the others are gradings: {', '.join(names)}")


def _grader(staging: Staging) -> str | None:
    """Return the attribute that has another value, fit to name a grading, in each row about an answer; None if there is none."""
    allowed = f"regexp_full_match(lower(e.value), '{NAME.pattern}') and lower(e.value) not in {RESERVED}"
    rows = staging.connection.execute(f"""
        with rows as (select *, dense_rank() over (order by {ANSWER}) as answer, count(*) over (partition by {ANSWER}) as times
            from copied_responses),
        entries as (select answer, times, unnest(map_entries(attributes)) as e from rows where times > 1),
        groups as (select e.key as key, answer, any_value(times) as times, count(distinct lower(e.value)) as others,
            bool_and({allowed}) as allowed from entries group by all)
        select key from groups where allowed and others = times group by key
        having count(*) = (select count(distinct answer) from rows where times > 1)
            and key in (select e.key from entries group by 1 having count(distinct lower(e.value)) <= {MAX_GRADERS})
        order by 1""").fetchall()
    return str(rows[0][0]) if len(rows) == 1 else None


def apply_decisions(staging: Staging, options: ImportOptions) -> None:
    """Create ``decided_rows``: the responses whose correctness the analyst decided. Raises ``Refused`` for a bad decision."""
    run = staging.connection.execute
    run("""
        create table decisions (nth integer, question_id varchar, clue integer, guess varchar, correct double);
        create table decided_rows (nth integer, file integer, ordinal bigint, correct double);
        create view named_responses as
            select s.*, q.dataset
            from responses_resolved s join numbered_questions q on q.n = s.question_number""")
    if not options.decisions:
        return
    rows = [(nth, d.question_id, d.clue, d.guess or None, d.correct) for nth, d in enumerate(options.decisions, start=1)]
    schema = {"nth": pl.Int32, "question_id": pl.String, "clue": pl.Int32, "guess": pl.String, "correct": pl.Float64}
    execute_with(staging.connection, pl.DataFrame(rows, schema=schema, orient="row"), "insert into decisions by name from given")
    run(f"""insert into decided_rows by name select d.nth, s.file, s.ordinal, d.correct from decisions d join named_responses s
        on not {among_states(NEVER_RIGHT, "s")} and s.question_id = d.question_id and s.guess is not distinct from d.guess
            and (d.clue is null or s.clue = d.clue)""")
    row_of = "join named_responses s on s.file = x.file and s.ordinal = x.ordinal"
    for reason, wrong in (
        ("no answer of the file has this question, clue and guess",
         "select nth from decisions anti join decided_rows using (nth)"),
        ("the file states whether this is correct", f"select nth from decided_rows x {row_of} where s.correct is not null"),
        ("the life table grades this, as a probability",
         f"select nth from decided_rows x {row_of} join datasets d on d.dataset = s.dataset where d.kind = 'lifeeval'"),
        ("another decision is about the same answer",
         "select max(nth) as nth from decided_rows group by file, ordinal having count(distinct nth) > 1"),
    ):  # fmt: skip
        sql = f"select nth, question_id, guess[:{MAX_SHOWN_LENGTH}] as guess from decisions where nth in ({wrong})"
        bad = run(first_rows(sql, "nth", MAX_LISTED_PROBLEMS)).fetchall()
        problems = [
            Problem(DECISIONS, nth, "guess", guess, f"{reason} (question {question!r})") for nth, question, guess, _ in bad
        ]
        staging.report.add(problems, bad[0][3] if bad else 0)
    staging.report.raise_problems()


def grade_responses(staging: Staging) -> None:
    """Create ``responses_graded``, and report responses that nothing grades. Decisions count as if the file stated them."""
    run = staging.connection.execute
    never = among_states(NEVER_RIGHT)
    if not run(f"select 1 from responses_resolved where correct is null and not {never} limit 1").fetchone():
        run(f"""create view responses_graded as
            select * replace (coalesce(correct, 0) as correct), if(correct is null, {state_sql()}, 'file') as graded,
                correct as stated, false as decided
            from responses_resolved""")
        return
    run("create table grades (dataset varchar, question_id varchar, guess varchar, correct double, graded varchar)")
    with staging.connection.cursor() as reading:
        reading.execute("use scratch")
        reading.execute(
            f"""{GUESSES.format("named_responses")} anti join decided_rows x on x.file = s.file and x.ordinal = s.ordinal
            where s.correct is null and not {among_states(NEVER_RIGHT, "s")}"""
        )
        while guesses := reading.fetchmany(BATCH):
            execute_with(staging.connection, grade_guesses(guesses), "insert into grades by name from given")
    # The grades are joined by equalities only: with any other condition, DuckDB compares every response with every grade.
    never = among_states(NEVER_RIGHT, "s")
    run(f"""
        create table graded_rows as
        with decidable as (
            select s.*, x.correct as decision, x.ordinal is not null as decided,
                case when s.correct is null and not {never} and not decided then s.question_id end as graded_question
            from named_responses s left join decided_rows x on x.file = s.file and x.ordinal = s.ordinal
        )
        select s.* exclude (row, dataset, correct, decision, decided, graded_question),
            coalesce(s.correct, s.decision, g.correct, if({never}, 0, null)) as correct,
            coalesce(s.correct, s.decision) as stated, s.decided,
            case when s.decided then 'person' when s.correct is not null then 'file' when {never} then {state_sql("s")}
                else g.graded end as graded
        from decidable s
        left join grades g on g.dataset = s.dataset and g.question_id = s.graded_question and g.guess is not distinct from s.guess
        order by run_number, question_number, sample, clue""")
    staging.report_rows(
        "graded_rows", "correct",
        "'the file does not say whether this is correct, and the question has no answer to grade it by'",
        "where correct is null", value="s.guess",
    )  # fmt: skip
    run("create view responses_graded as select rowid as row, * from graded_rows")
