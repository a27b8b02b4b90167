"""Statistics have the net reward at its usual threshold, so the leaderboard need not read every item."""

import duckdb

from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Do nothing: statistics are computed after the last step."""
