"""Which state each dataset is in: what was computed of a dataset is true for as long as its revision stays.

An upload makes a new version of the whole store, but leaves all datasets but one as they were; and of that one, it leaves as
they were the questions, the people and what earlier runs said. So a dataset has a ``base``, too: what was read of single runs
is true for as long as that stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import duckdb


class State(NamedTuple):
    """Tokens, never reused: ``revision`` of the dataset as it is, ``base`` of what a new run does not touch."""

    revision: str
    base: str


def renew(connection: duckdb.DuckDBPyConnection, datasets: Iterable[str], bases: Iterable[str] = ()) -> None:
    """Say that these datasets are not what they were, or even what lies at their base. Whoever changes anything of them must."""
    grounds = set(bases)
    before = states(connection)
    for dataset in sorted({*datasets, *grounds}):
        base = secrets.token_hex(8) if dataset in grounds or dataset not in before else before[dataset].base
        connection.execute("delete from revisions where dataset = $d", {"d": dataset})
        connection.execute("insert into revisions values ($d, $r, $b)", {"d": dataset, "r": secrets.token_hex(8), "b": base})


def states(connection: duckdb.DuckDBPyConnection) -> dict[str, State]:
    """Of each dataset, in the datasets' order."""
    sql = "select dataset, revision, base from datasets join revisions using (dataset) order by position"
    return {dataset: State(revision, base) for dataset, revision, base in connection.execute(sql).fetchall()}
