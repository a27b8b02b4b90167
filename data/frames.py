"""Between DuckDB and polars, over the Arrow stream interface both speak: no third library is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl


class ArrowStream:
    """A polars frame as DuckDB reads it: by replacement scan, DuckDB would ask polars for a pyarrow table."""

    def __init__(self, held: pl.DataFrame) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._held.__arrow_c_stream__(requested_schema)


def frame(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None
) -> pl.DataFrame:
    """The rows of a query as a polars frame."""
    if not parameters:
        return pl.DataFrame(connection.sql(sql))
    # A relation with parameters is kept as Python objects, value by value; a table goes over as it is, several times as fast.
    connection.execute(f"create or replace temp table answer as {sql}", parameters)
    try:
        return pl.DataFrame(connection.sql("from temp.answer"))
    finally:
        connection.execute("drop table temp.answer")


def literal(text: object) -> str:
    """A SQL string."""
    return "'" + str(text).replace("'", "''") + "'"
