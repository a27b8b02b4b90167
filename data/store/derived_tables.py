"""Recomputes everything in the store that is derived from other tables."""

from __future__ import annotations

import duckdb

from data import human_curves
from data.store import difficulty, run_statistics
from data.store.run_files import Objects


def derive_all(connection: duckdb.DuckDBPyConnection, objects: Objects) -> None:
    """Compute the human curves, statistics and difficulties of every dataset."""
    for (dataset,) in connection.execute("select dataset from datasets order by position").fetchall():
        human_curves.derive(connection, dataset)
        run_statistics.derive(connection, objects, dataset)
        difficulty.derive_accuracies(connection, objects, dataset)
        difficulty.derive(connection, dataset)
