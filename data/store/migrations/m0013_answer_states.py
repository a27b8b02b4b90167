"""Answers without a confidence, answers that were not parsed and abstentions are kept: responses say so, and runs count them."""

from __future__ import annotations

import duckdb

from clueline.data.store.migrations import drop_column
from clueline.data.store.run_files import Objects

STATES = ("no_confidence", "unparsed", "abstained")
FORM_BEFORE = 3  # form of responses without ``state``


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the columns. Files of responses that lack ``state`` are read as if it were null: earlier runs have no such answers."""
    for state in STATES:  # counted neither as items nor as failed calls
        connection.execute(f"alter table runs add column {state} bigint default 0")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    for state in STATES:
        drop_column(connection, "runs", state, "0")
