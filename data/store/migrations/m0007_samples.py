"""Runs say how many answers they hold for each clue, and whether these come from respondents.

Responses say which of several answers they are, and whether the system buzzes.
"""

import duckdb

from data.store.migrations import drop_column
from data.store.run_files import Objects

FORM_BEFORE = 1  # form of responses without sample and buzz


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the columns of runs. Files of responses that lack the new columns are read as if these were null."""
    connection.execute("alter table runs add column samples integer default 1")
    connection.execute("alter table runs add column respondents boolean default false")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    drop_column(connection, "runs", "samples", "1")
    drop_column(connection, "runs", "respondents", "false")
