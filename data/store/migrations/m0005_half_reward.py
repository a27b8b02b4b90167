"""Statistics have the net reward at its usual threshold, so that the leaderboard need not read every item."""

import duckdb


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Nothing to do here: statistics are computed after the last step."""
