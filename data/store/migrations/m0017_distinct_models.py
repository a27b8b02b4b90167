"""Names that look like one model's, and are not: proposals to merge them are dismissed."""

from __future__ import annotations

import duckdb

from clueline.data.store.errors import NeedsMigration
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the table of pairs of names, each there once with ``name`` before ``other``."""
    connection.execute("create table distinct_models (name varchar not null, other varchar not null)")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the table, unless somebody dismissed a proposal."""
    if connection.execute("select 1 from distinct_models limit 1").fetchone():
        raise NeedsMigration("dismissed proposals")
    connection.execute("drop table distinct_models")
