"""Lists in the catalogue which attributes the responses of a run have, and which values."""

from __future__ import annotations

import duckdb

from data.duckdb_and_polars import execute
from data.store.run_files import Objects, stored_objects

MAX_VALUES = 100  # of an attribute that a run can be divided by
ESTIMATE_MARGIN = 4  # above this many times MAX_VALUES, by an estimate that takes little memory, values are not counted


def list_attributes(connection: duckdb.DuckDBPyConnection, objects: Objects, run: str) -> None:
    """List the attributes of a run in the catalogue. An attribute with more than ``MAX_VALUES`` values is listed without them."""
    parts = stored_objects(connection, "responses", runs=[run])
    entries = f"""(select dataset, run, entry.key as attribute, entry.value as value from (
        select dataset, run, unnest(map_entries(attributes)) as entry from {objects.relation("responses", parts)}))"""
    counts = f"select attribute, approx_count_distinct(value) from {entries} group by 1"
    few = [name for name, values in connection.execute(counts).fetchall() if values <= ESTIMATE_MARGIN * MAX_VALUES]
    execute(
        connection,
        f"""insert into response_attributes by name
        select dataset, run, attribute, value, count(*) as responses from {entries}
        where list_contains($few::varchar[], attribute) group by 1, 2, 3, 4
        qualify count(*) over (partition by attribute) <= {MAX_VALUES} order by attribute, value""",
        {"few": few},
    )
    execute(
        connection,
        f"""insert into response_attributes by name
        select dataset, run, attribute, null as value, count(*) as responses from {entries}
        where attribute not in (select attribute from response_attributes where run = $run) group by all order by attribute""",
        {"run": run},
    )
