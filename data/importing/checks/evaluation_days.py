"""Cuts answers into runs by when they were given: answers of one night are one run, however many times they state.

Afterwards each row of ``responses_read`` has the time at which its run began as ``evaluated_at``.
"""

from __future__ import annotations

from clueline.data.importing.staging import Staging

# Hours without an answer after which the next one is of another night. Days are 24 hours apart.
PAUSE = 6
MAX_DAYS = 7  # that a single evaluation takes
OF_RUN = "dataset, model, elicitation, file"
TOLD_APART = "question_id, coalesce(clue, 0), coalesce(sample, '')"


def date_runs(staging: Staging) -> None:
    """Set the time of each row to that of its run. Reports rows that do not say of which of several runs they are.

    The times of a run in one file are cut where none lies within ``PAUSE`` hours. Where no question is answered again afterwards,
    they are one run.
    """
    run = staging.connection.execute
    if not run("select 1 from responses_read where evaluated_at is not null limit 1").fetchone():
        return
    staging.copy_responses()
    run(f"""create table times_of_runs as
        with times as (select {OF_RUN}, evaluated_at from responses_read where evaluated_at is not null group by all),
        begun as (
            select *, evaluated_at > lag(evaluated_at) over (partition by {OF_RUN} order by evaluated_at)
                + interval {PAUSE} hour as paused from times
        ), numbered as (
            select *, count(*) filter (paused) over (partition by {OF_RUN} order by evaluated_at) as part from begun
        ), again as (
            select {OF_RUN}, max(rows) > 1 as repeats from (
                select {OF_RUN}, count(*) as rows from responses_read
                where evaluated_at is not null group by {OF_RUN}, {TOLD_APART})
            group by all
        )
        select n.dataset, n.model, n.elicitation, n.file, n.evaluated_at,
            min(n.evaluated_at) over (partition by n.dataset, n.model, n.elicitation, n.file, if(a.repeats, part, 0)) as began
        from numbered n join again a on a.dataset = n.dataset and a.model is not distinct from n.model
            and a.elicitation = n.elicitation and a.file = n.file""")
    run(f"""create table dated_rows as
        with single as (select {OF_RUN}, if(count(distinct began) = 1, min(began), null) as began from times_of_runs group by all)
        select s.file, s.ordinal, s.question_id, coalesce(t.began, o.began) as began,
            o.file is not null and coalesce(t.began, o.began) is null as undated
        from copied_responses s
        left join times_of_runs t on t.dataset = s.dataset and t.model is not distinct from s.model
            and t.elicitation = s.elicitation and t.file = s.file and t.evaluated_at = s.evaluated_at
        left join single o on o.dataset = s.dataset and o.model is not distinct from s.model
            and o.elicitation = s.elicitation and o.file = s.file;
        update copied_responses s set evaluated_at = d.began from dated_rows d where d.file = s.file and d.ordinal = s.ordinal""")
    reason = "'when was this answered? The file has answers of this run from several days, and this row states none'"
    staging.report_rows("dated_rows", "question_id", reason, "where undated")
