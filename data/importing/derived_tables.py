"""Everything in the store that follows from other tables, computed again."""

from __future__ import annotations

import duckdb

from data import human_curves, statistics
from data.importing import run_statistics


def derive_all(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table of statistics anew, and compute the human curves, statistics and difficulties of every dataset."""
    connection.execute("drop table statistics")
    connection.execute(statistics.TABLE)
    for (dataset,) in connection.execute("select dataset from datasets order by position").fetchall():
        human_curves.derive(connection, dataset)
        run_statistics.derive(connection, dataset)
        statistics.derive_difficulty(connection, dataset)
