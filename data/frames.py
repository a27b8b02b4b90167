"""Between DuckDB and polars, over the Arrow stream interface both speak: no third library is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

PARAMETER = re.compile(r"\$([a-z]\w*)")


class ArrowStream:
    """A polars frame as DuckDB reads it: by replacement scan, DuckDB would ask polars for a pyarrow table."""

    def __init__(self, held: pl.DataFrame) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._held.__arrow_c_stream__(requested_schema)


def frame(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """The rows of a query as a polars frame; ``$name`` in it is a parameter where one of that name is given."""
    # DuckDB keeps what a query with parameters gives as Python objects, value by value; one with variables of the connection
    # in their place hands over its columns, several times as fast.
    given = parameters or {}
    for name, value in given.items():
        connection.execute(f"set variable {name} = $value", {"value": value})
    return pl.DataFrame(
        connection.sql(PARAMETER.sub(lambda found: f"getvariable('{found[1]}')" if found[1] in given else found[0], sql))
    )


def literal(text: object) -> str:
    """A SQL string."""
    return "'" + str(text).replace("'", "''") + "'"
