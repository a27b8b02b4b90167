"""Responses say whether the call failed, and runs count their failed calls.

In an existing store, guesses of ERROR become failed calls: no guess, confidence 0, correctness 0. Their ``graded`` is ``failed``,
or ``file`` if the file stated their correctness.
"""

import duckdb

from data.store.run_files import Objects

FAILED = """lower(trim(guess)) = 'error' and options is null and not (graded in ('file', 'person') and correct > 0)"""


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the columns. A run's items and questions are counted again without its failed calls."""
    run = connection.execute
    run("alter table responses add column failed boolean default false")  # no answer was received
    run("alter table runs add column failed bigint default 0")  # failed calls; counted neither as items nor as questions
    run(f"""update responses set failed = true, guess = null, confidence = 0, correct = 0, token_logprobs = null,
            graded = if(graded = 'file', 'file', 'failed') where {FAILED}""")
    run("""
        update runs r set failed = c.failed, items = c.items, questions = c.questions,
            missing_questions = r.missing_questions + r.questions - c.questions
        from (
            select run, count(*) filter (failed) as failed, count(*) filter (not failed) as items,
                count(distinct question_id) filter (not failed)::integer as questions
            from responses where run in (select run from responses where failed) group by run
        ) c where c.run = r.run""")
