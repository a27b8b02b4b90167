"""Statistics have the net reward at its usual threshold, so that the leaderboard need not read every item."""

import duckdb

from data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Nothing to do here: statistics are computed after the last step."""
