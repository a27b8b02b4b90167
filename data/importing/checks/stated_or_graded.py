"""The correctness of responses: stated in the file, perhaps several times, decided by the analyst, or graded by the question.

Also the confidences of answers that state none: the rank of a score or, if the analyst asks for it, what a map makes of the
score, or how many samples agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

import numpy as np
import polars as pl

from data.duckdb_and_polars import execute, execute_with, first_rows, frame, literal
from data.importing.checks.responses import IS_FAILED, STORED_STATE
from data.importing.report import MAX_LISTED_PROBLEMS, Problem, refuse
from data.importing.run_gradings import GUESSES, grade_guesses
from data.importing.staging import UNSTATED, ImportOptions, Repeats, RunKey, Staging
from data.importing.table_contract import MAX_SHOWN_LENGTH
from data.quizbowl.answer_words import normalise
from data.recalibration_maps import FOLDS, cross_fitted, folds_of_questions
from data.store.answer_states import ANSWERED, NEVER_RIGHT, SCORES, among_states, state_sql
from data.store.gradings import NAME, RESERVED

BATCH = 50_000  # guesses graded at a time
DECISIONS = "grades"  # reports treat the analyst's decisions as a file of this name; a line is the number of a decision


MAX_GRADERS = 20  # values of a column that can name gradings
# The rows of one answer, and what is the same in all of them if they differ only in the grade.
ANSWER = "dataset, model, elicitation, question_id, coalesce(clue, 0), coalesce(sample, '')"
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
            select s.*, q.dataset, q.question_id
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
        select s.* exclude (row, dataset, question_id, correct, decision, decided, graded_question),
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


AGREEMENT = "agreement"  # elicitation of a confidence that is the share of samples that agree
MIN_SAMPLES = 3  # of most questions, from which agreement says something
EXISTS = "select 1 from duckdb_tables() where table_name = '{}'"
# SQL for a row s of ``responses_read``: its state, and the samples of which it is one.
OWN_STATE = f"case when {IS_FAILED} then 'failed' else coalesce({STORED_STATE}, 'answered') end"
OF_CLUE = "dataset, model, elicitation, question_id, coalesce(clue, 0)"


def answer_form(guess: str) -> str:
    """Return the form in which samples agree: numbers by their value, other answers without case, accents and punctuation.

    >>> answer_form("1,000.0"), answer_form("-5"), answer_form("(B)."), answer_form("The Nile!"), answer_form("?")
    ('1000.0', '-5.0', 'b', 'nile', '?')
    """
    try:
        return repr(float(re.sub(r"(?<=\d),(?=\d{3}\b)", "", guess)))
    except ValueError:
        return normalise(guess) or guess.strip()


def agree_samples(staging: Staging, options: ImportOptions) -> None:
    """Make one answer of the samples of a question if the analyst asks for it; else offer it where it can be done.

    It can be done for runs of several samples without any confidence. The most frequent answer is the guess, the first of several
    such, and its share of the samples the confidence; failed calls are no samples. Which answers are right makes no difference:
    samples agree by their form. Where abstentions are the most frequent, it is one. Raises ``Refused`` if no run is such a run.
    """
    run, report = staging.connection.execute, staging.report
    sampled = run("select 1 from responses_read where sample is not null and confidence is null limit 1").fetchone()
    if not sampled and not options.agreement:
        return
    run(f"""create table agreeing as select dataset, model, elicitation, max(samples) as samples from (
            select dataset, model, elicitation, count(*) as samples, count(guess) as guesses,
                bool_or({OWN_STATE} in ('answered', 'scored')) as stated
            from responses_read s group by dataset, model, elicitation, question_id, coalesce(clue, 0)
        ) group by 1, 2, 3 having not bool_or(stated) and median(samples) >= {MIN_SAMPLES} and sum(guesses) > 0""")
    runs = {RunKey(*key): samples for *key, samples in run("from agreeing order by all").fetchall()}
    people = [key for key in runs if key in staging.respondents]
    if not options.agreement:
        for key, samples in runs.items():
            if key not in people:
                what = f"up to {samples} answers to a question, and no confidence: how many agree can be one"
                report.warn(f"{key.model} ({key.elicitation}): {what}", "agreement")
        return
    if not runs or people:
        reason = f"no run has {MIN_SAMPLES} samples of most questions and no confidence, so agreement can be none"
        raise refuse(staging.files[0].name, "answers of different people are no samples" if people else reason)
    guesses = run("select distinct guess from responses_read semi join agreeing using (dataset, model, elicitation)").fetchall()
    forms = pl.DataFrame(
        [(guess, answer_form(guess)) for (guess,) in guesses if guess],
        schema={"guess": pl.String, "form": pl.String},
        orient="row",
    )
    execute_with(staging.connection, forms, "create table answer_forms as from given")
    run(f"""
        create table agreed_rows as
        with samples as (
            select s.*, {OWN_STATE} as own, f.form,
                case own when 'no_confidence' then f.form when 'abstained' then '' end as vote
            from responses_read s semi join agreeing using (dataset, model, elicitation) left join answer_forms f using (guess)
        ), counted as (
            select *, count(*) filter (own <> 'failed') over (partition by {OF_CLUE}) as asked,
                count(*) over (partition by {OF_CLUE}, vote) as votes,
                avg(correct) over (partition by {OF_CLUE}, vote) as mean
            from samples
        )
        select * exclude (own, form, vote, asked, votes, mean) replace (
            case own when 'no_confidence' then null else own end as state,
            case when own = 'no_confidence' then votes / asked end as confidence, mean as correct, null as sample,
            if(elicitation = '{UNSTATED}', '{AGREEMENT}', elicitation || ', {AGREEMENT}') as elicitation)
        from counted
        qualify row_number() over (partition by {OF_CLUE} order by vote is null, own = 'failed', votes desc, file, ordinal) = 1
        union all by name
        from responses_read anti join agreeing using (dataset, model, elicitation);
        create or replace view responses_read as from agreed_rows""")
    report.lines += [
        f"{key.model} ({key.elicitation}): how many of up to {samples} samples agree is its confidence"
        for key, samples in runs.items()
    ]
    _rename(
        staging,
        {
            key: key._replace(elicitation=AGREEMENT if key.elicitation == UNSTATED else f"{key.elicitation}, {AGREEMENT}")
            for key in runs
        },
    )


SCORE = " ".join(f"when isfinite(try_cast(attributes['{name}'] as double)) then {sign} * attributes['{name}']::double"
                 for name, sign in SCORES.items())  # fmt: skip


def rank_scores(staging: Staging) -> None:
    """Set the confidence of scored rows to the rank of their score in the run: above 0, below 1, and equal for equal scores.

    ``scores`` has the numbers, negative where a score is low where the model is sure. Raises ``Refused``.
    """
    run = staging.connection.execute
    if not run("select 1 from responses_ordered where state = 'scored' limit 1").fetchone():
        return
    run(f"""create table scores as select row, run_number, question_number, file, ordinal, case {SCORE} end as score
        from responses_ordered where state = 'scored'""")
    reason = f"a scored answer has a number in one of the columns {' and '.join(SCORES)}"
    staging.report_rows("scores", "state", f"'{reason}'", "where score is null", value="'scored'")
    others = f"""join (select distinct run_number from responses_ordered where {ANSWERED}) using (run_number)
        where not exists (from scores o where o.run_number = s.run_number and (o.file, o.ordinal) < (s.file, s.ordinal))"""
    staging.report_rows("scores", "state", "'a run has scores or confidences, not both'", others, value="'scored'")
    forecasts = "join numbered_runs r on r.n = s.run_number join datasets d using (dataset) where d.kind = 'forecast'"
    staging.report_rows("scores", "state", "'a forecast is a probability, not a score'", forecasts, value="'scored'")
    staging.report.raise_problems()
    run("""update ordered_rows o set confidence = ranked.place / (ranked.highest + 1) from (
            select row, place, max(place) over (partition by run_number) as highest from (
                select row, run_number, dense_rank() over (partition by run_number order by score) as place from scores)
        ) ranked where ranked.row = o.rowid""")


def map_scores(staging: Staging, options: ImportOptions) -> None:
    """Turn scores into confidences by the map that the analyst asks for, cross-fitted by question; else warn that they are none.

    The map of a fold of questions is fitted to the grades of the other questions. The run's elicitation names the map. Raises
    ``Refused`` if there are no scores, or a run answers a single question.
    """
    run, report = staging.connection.execute, staging.report
    if not run(EXISTS.format("scores")).fetchone():
        if options.map:
            raise refuse(staging.files[0].name, "no answer has a score, so there is nothing to map to probabilities")
        return
    if not options.map:
        report.warn("scores are no probabilities: metrics of order count them (such as AUROC and AURC), others do not", "map")
        return
    sql = "select n, dataset, model, elicitation from numbered_runs semi join scores on run_number = n"
    numbered = {n: RunKey(*key) for n, *key in run(sql).fetchall()}
    mapped = []
    for n, key in numbered.items():
        items = frame(
            staging.connection,
            f"""select s.file, s.ordinal, s.question_number, s.score, g.correct
            from scores s join responses_graded g using (file, ordinal) where s.run_number = {n}""",
        )
        question = items["question_number"].rank("dense").to_numpy().astype(np.int64) - 1
        if question.max() < 1:
            raise refuse(staging.files[0].name, f"{key.model} ({key.elicitation}) answers one question; a map needs at least two")
        folds = folds_of_questions(int(question.max()) + 1)[question]
        confidence = cross_fitted(options.map, items["score"].to_numpy(), items["correct"].to_numpy(), folds, FOLDS)
        mapped.append(items.select("file", "ordinal").with_columns(mapped=np.clip(confidence, 0, 1)))
    execute_with(staging.connection, pl.concat(mapped), "create table mapped_scores as from given")
    run("""
        create table mapped_rows as
            select s.* exclude (row) replace (
                coalesce(m.mapped, s.confidence) as confidence, if(m.mapped is null, s.state, null) as state)
            from responses_graded s left join mapped_scores m using (file, ordinal) order by s.row;
        drop view responses_graded;
        create view responses_graded as select rowid as row, * from mapped_rows""")
    _rename(staging, {key: key._replace(elicitation=f"{key.elicitation}, {options.map} map") for key in numbered.values()})


def _rename(staging: Staging, renamed: Mapping[RunKey, RunKey]) -> None:
    """Give incoming runs other elicitations, wherever they are named apart from their responses."""
    where = "dataset = $dataset and model = $model and elicitation = $elicitation"
    tables = ["tags_read", *(["numbered_runs"] if staging.connection.execute(EXISTS.format("numbered_runs")).fetchone() else [])]
    for table, (old, new) in product(tables, renamed.items()):
        sql = f"update {table} set elicitation = $renamed where {where}"
        execute(staging.connection, sql, old._asdict() | {"renamed": new.elicitation})
    staging.respondents = {renamed.get(key, key) for key in staging.respondents}
    skipped = staging.report.skipped
    staging.report.skipped = {renamed.get(RunKey(*key), key): reasons for key, reasons in skipped.items()}
    staging.grading_names = {renamed.get(key, key): name for key, name in staging.grading_names.items()}
