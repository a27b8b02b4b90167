"""Runs have the time at which they were evaluated, and elicitations are called as in a vocabulary."""

from __future__ import annotations

import duckdb

from clueline.data.elicitations import canonical_elicitations
from clueline.data.store.migrations import drop_column
from clueline.data.store.run_files import Objects


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Add the columns, and take days and the names of writers out of elicitations. ``stated_elicitation`` keeps these.

    Runs that were imported together under two names of one elicitation keep their names. The day of an earlier run is its tag
    ``date``: its id does not depend on it, unlike those of runs with a time.
    """
    connection.execute("alter table runs add column evaluated_at timestamp")
    connection.execute("alter table runs add column stated_elicitation varchar")
    sql = "select dataset, model, list(distinct elicitation) from runs group by dataset, model, imported_at"
    for dataset, model, names in connection.execute(sql).fetchall():
        for name, canonical in canonical_elicitations(names).items():
            if canonical != name:
                connection.execute(
                    """update runs set elicitation = $canonical, stated_elicitation = $name
                    where dataset = $dataset and model = $model and elicitation = $name and stated_elicitation is null""",
                    {"canonical": canonical, "name": name, "dataset": dataset, "model": model},
                )


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Restore the names. Raises ``NeedsMigration`` if a run has a time, for which the earlier tables have no room."""
    drop_column(connection, "runs", "evaluated_at")
    connection.execute("update runs set elicitation = coalesce(stated_elicitation, elicitation)")
    connection.execute("alter table runs drop column stated_elicitation")
