"""Confidences of answers that state none: the rank of a score, what a map makes of it, or the share of samples that agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

import numpy as np
import polars as pl

from clueline.data.duckdb_and_polars import execute, execute_with, frame
from clueline.data.importing.checks.responses import IS_FAILED, STORED_STATE
from clueline.data.importing.report import refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, RunKey, Staging
from clueline.data.quizbowl.answer_words import normalise
from clueline.data.recalibration_maps import FOLDS, cross_fitted, folds_of_questions
from clueline.data.store.answer_states import ANSWERED, SCORES

AGREEMENT = "agreement"  # elicitation of a confidence that is the share of samples that agree
MIN_SAMPLES = 3  # of most questions, from which agreement says something
EXISTS = "select 1 from duckdb_tables() where table_name = '{}'"
# SQL for a row s of ``responses_read``: its state, and the samples of which it is one.
OWN_STATE = f"case when {IS_FAILED} then 'failed' else coalesce({STORED_STATE}, 'answered') end"
OF_CLUE = "dataset, model, elicitation, evaluated_at, question_id, coalesce(clue, 0)"


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
            from responses_read s group by {OF_CLUE}
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
    names = {key: AGREEMENT if key.elicitation == UNSTATED else f"{key.elicitation}, {AGREEMENT}" for key in runs}
    _rename(staging, names)


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
    _rename(staging, {key: f"{key.elicitation}, {options.map} map" for key in numbered.values()})


def _rename(staging: Staging, elicitations: Mapping[RunKey, str]) -> None:
    """Give incoming runs other elicitations, wherever they are named apart from their responses."""
    renamed = {key: key._replace(elicitation=elicitation) for key, elicitation in elicitations.items()}
    where = "dataset = $dataset and model = $model and elicitation = $elicitation"
    tables = ["tags_read", *(["numbered_runs"] if staging.connection.execute(EXISTS.format("numbered_runs")).fetchone() else [])]
    for table, (old, new) in product(tables, renamed.items()):
        sql = f"update {table} set elicitation = $renamed where {where}"
        execute(staging.connection, sql, old._asdict() | {"renamed": new.elicitation})
    staging.respondents = {renamed.get(key, key) for key in staging.respondents}
    skipped = staging.report.skipped
    staging.report.skipped = {(*renamed.get(RunKey(*key), RunKey(*key)), at): reasons for (*key, at), reasons in skipped.items()}
    staging.grading_names = {renamed.get(key, key): name for key, name in staging.grading_names.items()}
