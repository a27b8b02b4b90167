"""Which state each dataset is in: what was computed of a dataset is true for as long as its revision stays.

An upload makes a new version of the whole store, but leaves all datasets but one as they were.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import duckdb


def renew(connection: duckdb.DuckDBPyConnection, datasets: Iterable[str]) -> None:
    """Say that these datasets are not what they were. Whoever changes anything of a dataset must."""
    for dataset in sorted(set(datasets)):
        connection.execute("delete from revisions where dataset = $d", {"d": dataset})
        connection.execute("insert into revisions values ($d, $r)", {"d": dataset, "r": secrets.token_hex(8)})


def revisions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Of each dataset, in the datasets' order; never reused."""
    sql = "select dataset, revision from datasets join revisions using (dataset) order by position"
    return dict(connection.execute(sql).fetchall())
