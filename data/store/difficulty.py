"""Difficulty of questions: as given, else from the dataset's human data, else from its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import duckdb

from clueline.data.dataset_kinds import FORECAST
from clueline.data.duckdb_and_polars import execute
from clueline.data.human_curves import ROOMS
from clueline.data.store.run_files import Objects, StoredObject, stored_objects

DECIMALS = 12  # as floats, 1 - 0.7 is above 0.3, and a range up to 0.3 would leave it out
UNITS = 2**52  # per share. Threads add in any order, which changes the digits of a sum of floats but not of integers


def derive(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Set each question's difficulty in [0, 1]: as given; else from the dataset's human data; else from its runs.

    If teams played head to head, it is 1 - the share of rooms in which the question was answered correctly: the share of teams
    could not exceed 1/2 in rooms of two. With other human data, it is 1 - the share of human teams that answered correctly.
    Without human data, it is 1 - the mean accuracy over the runs that are not withdrawn.
    """
    people, rooms = execute(
        connection,
        """select (select count(*) from curves where dataset = $d),
            (select coalesce(bool_or(head_to_head), false) from datasets where dataset = $d)""",
        {"d": dataset},
    ).fetchall()[0]
    if people and rooms:
        source = "rooms"
        ease = f"select question_id, avg(teams_right) as ease from ({ROOMS.replace('$dataset', '$d')}) group by 1"
    elif people:
        source = "human"
        ease = "select question_id, last(team_share order by clue) as ease from curves where dataset = $d group by 1"
    else:
        source = "runs"
        ease = f"select question_id, correct::double / {UNITS} / runs as ease from accuracies where dataset = $d"
    execute(
        connection,
        f"""update questions set difficulty = coalesce(given_difficulty, round(1 - ease, {DECIMALS})),
            difficulty_source = case when given_difficulty is not null then 'given' when ease is not null then '{source}' end
        from (select q.question_id, e.ease from questions q left join ({ease}) e using (question_id) where q.dataset = $d) eased
        where questions.dataset = $d and questions.question_id = eased.question_id""",
        {"d": dataset},
    )


def derive_accuracies(connection: duckdb.DuckDBPyConnection, objects: Objects, dataset: str) -> None:
    """Recompute the rows of a dataset in the table ``accuracies`` from its runs that are not withdrawn."""
    execute(connection, "delete from accuracies where dataset = $d", {"d": dataset})
    runs = execute(connection, "select run from runs where dataset = $d and withdrawn_at is null", {"d": dataset}).fetchall()
    add_accuracies(connection, objects, [run for (run,) in runs])


def add_accuracies(
    connection: duckdb.DuckDBPyConnection, objects: Objects, runs: Sequence[str], sign: Literal[1, -1] = 1
) -> None:
    """Add the contribution of runs to ``accuracies``, or subtract it (sign -1). Datasets with human curves have no rows there."""
    parts = stored_objects(connection, "statistics", runs=runs)
    with_people = {row[0] for row in connection.execute("select distinct dataset from curves").fetchall()}
    parts = [part for part in parts if part.dataset not in with_people]
    if not parts:
        return
    connection.execute(f"""
        create or replace temp table added as
        select dataset, question_id, count(*)::integer as runs, sum((share * {UNITS})::bigint)::hugeint as correct
        from ({_shares_of_right_answers(connection, objects, parts)}) join questions using (dataset, question_id) group by all""")
    connection.execute(f"""
        update accuracies a set runs = a.runs + {sign} * n.runs, correct = a.correct + {sign} * n.correct
        from added n where n.dataset = a.dataset and n.question_id = a.question_id""")
    connection.execute(f"""
        insert into accuracies by name
        select dataset, question_id, {sign} * runs as runs, {sign} * correct as correct
        from added anti join accuracies using (dataset, question_id)""")
    connection.execute("delete from accuracies where runs = 0")
    connection.execute("drop table added")


def _shares_of_right_answers(connection: duckdb.DuckDBPyConnection, objects: Objects, parts: Sequence[StoredObject]) -> str:
    """Return SQL for ``dataset``, ``question_id`` and ``share`` of right answers, a row for each run and question."""
    kinds = execute(connection, "select dataset from datasets where kind = $kind", {"kind": FORECAST}).fetchall()
    forecasts = {dataset for (dataset,) in kinds}
    sql = f"""select s.dataset, question_id, correct / items as share
        from {objects.relation("statistics", [part for part in parts if part.dataset not in forecasts])} s
        join questions q on q.dataset = s.dataset and q.position = s.position"""
    runs = [part.run for part in parts if part.dataset in forecasts]
    if runs:
        side = "case when confidence > 0.5 then correct when confidence < 0.5 then 1 - correct else 0.5 end"
        sql += f""" union all select dataset, question_id, avg({side}) as share
            from {objects.relation("responses", stored_objects(connection, "responses", runs=runs))}
            where not failed group by dataset, run, question_id"""
    return sql
