"""The responses and the statistics of each run are Parquet files, and the catalogue names them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb

from data.duckdb_and_polars import literal
from data.store.run_files import PARQUET, Objects, record_objects

COLUMNS = "question_id, clue, guess, confidence, correct, graded, token_logprobs, options, option_names, failed"


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Write the responses of each run to a file. Statistics are computed after the last step."""
    run = connection.execute
    run("""
        create table objects (
            kind varchar not null, dataset varchar not null, run varchar not null,  -- kind: responses or statistics
            form integer not null,      -- which columns the file has
            name varchar not null,      -- path under the folder of objects; never reused
            rows bigint not null, bytes bigint not null, sha256 varchar not null
        );
        -- Where difficulty comes from runs: over those that are not withdrawn, as integers, so that it adds up in any order.
        create table accuracies (
            dataset varchar not null, question_id varchar not null,
            runs integer not null,      -- that answered the question
            correct hugeint not null    -- sum of their shares of items that are correct, in units of 2^-52
        )""")
    rows = run("select run, dataset from responses group by all order by all").fetchall()
    for name, dataset in rows:
        assert objects is not None
        record_objects(connection, [objects.add("responses", dataset, name, partial(_write, connection, name), form=1)])
    run("drop table responses")
    run("drop table if exists statistics")


def _write(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> int:
    sql = f"select {COLUMNS} from responses where run = {literal(name)} order by question_id, clue"
    return int(connection.execute(f"copy ({sql}) to {literal(path)} ({PARQUET})").fetchall()[0][0])
