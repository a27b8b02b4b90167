"""The responses and statistics of all runs as tables, for tests that check what is stored."""

from dataclasses import replace

from clueline.data.duckdb_and_polars import literal
from clueline.data.store import Store
from clueline.data.store.run_files import KINDS, PARQUET, TYPES, record_objects, stored_objects


def with_runs(source):
    """Return a snapshot with the views ``responses`` and ``statistics`` of all runs in addition to the tables of the store.

    Args:
        source: a store, or a snapshot of it.
    """
    snapshot = source.snapshot() if isinstance(source, Store) else source
    connection = snapshot.connection.cursor()
    for kind in KINDS:
        relation = snapshot.objects.relation(kind, stored_objects(connection, kind))
        join = "join questions q using (dataset, position)" if kind == "statistics" else ""
        columns = "s.*, q.question_id" if kind == "statistics" else "*"
        connection.execute(f"create or replace temp view {kind} as select {columns} from {relation} s {join}")
    return replace(snapshot, connection=connection)


def stored_rows(source, sql, parameters=None):
    """Return the rows of a query on the tables of the store and the views of ``with_runs``."""
    return with_runs(source).rows(sql, parameters)


def add_responses(connection, objects, sql):
    """Store the responses that a query returns, in the order of question ids and clues.

    Args:
        connection: a connection to a catalogue. Runs without a row in it get one.
        objects: where to write the responses.
        sql: returns ``run``, ``dataset``, ``question_id``, ``clue``, ``confidence``, ``correct`` and optionally further columns.
    """
    connection.execute(f"create or replace temp table given as {sql}")
    given = {name for name, *_ in connection.execute("describe given").fetchall()}
    default = {"graded": "'file'", "failed": "false"}
    columns = ", ".join(
        f"{name if name in given else default.get(name, 'null')}::{type_} as {name}" for name, type_ in TYPES["responses"].items()
    )
    for run, dataset in connection.execute("select distinct run, dataset from given order by all").fetchall():

        def write(path, run=run):
            query = f"select {columns} from given where run = {literal(run)} order by question_id, clue"
            return connection.execute(f"copy ({query}) to {literal(path)} ({PARQUET})").fetchall()[0][0]

        record_objects(connection, [objects.add("responses", dataset, run, write)])
        connection.execute(
            """insert into runs by name
            select $run as run, $dataset as dataset, coalesce(max(position), -1) + 1 as position, $run as model,
                '' as elicitation, '' as sha256, now()::timestamp as imported_at, 1 as items, 1 as questions,
                0 as missing_questions, 0 as failed
            from runs having not coalesce(bool_or(run = $run), false)""",
            {"run": run, "dataset": dataset},
        )
    connection.execute("drop table given")


def add_questions(connection, sql):
    """Store the questions that a query returns, with their numbers of clues, in the order of their ids.

    Args:
        connection: a connection to a catalogue.
        sql: returns ``dataset``, ``question_id`` and ``clues``.
    """
    connection.execute(f"""insert into questions by name
        select *, (row_number() over (partition by dataset order by question_id) - 1)::integer as position from ({sql})""")
