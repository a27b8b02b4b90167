"""Exchange of tables between DuckDB and polars, over the Arrow stream interface that both support."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import duckdb
import msgspec
import polars as pl

SqlParameters = dict[str, Any]  # values of the named parameters of a statement
PARAMETER = re.compile(r"\$([a-z]\w*)")
PLAIN = re.compile(r"[\w .,:-]*", re.ASCII)
LIST = """from_json({}, '["VARCHAR"]')"""  # reads a JSON text; a list with thousands of texts takes DuckDB several times as long
SMALL = 2**31  # integers of a smaller absolute value have DuckDB's type INTEGER


class ArrowStream:
    """A polars frame that DuckDB can read by the name of its variable. Otherwise DuckDB would ask polars for a pyarrow table."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def frame(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return the rows of a query as a polars frame. ``$name`` is a parameter if ``parameters`` has that name."""
    sql, others = inline_plain_values(sql, parameters or {})
    # DuckDB converts the result of a query with parameters value by value. With variables of the connection instead, it hands
    # over whole columns, which is several times as fast.
    for name, value in others.items():
        expression, parameter = _parameter(value)
        connection.execute(f"set variable {name} = {expression}", {"value": parameter})
    return pl.DataFrame(
        connection.sql(PARAMETER.sub(lambda match: f"getvariable('{match[1]}')" if match[1] in others else match[0], sql))
    )


def execute(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Run a small statement after inserting its plain parameters into the SQL. See ``inline_plain_values``."""
    return connection.execute(*inline_plain_values(sql, parameters))


def execute_with(connection: duckdb.DuckDBPyConnection, given: pl.DataFrame, sql: str, parameters: object = None) -> None:
    """Run a statement that changes something and reads a polars frame by the name ``given``."""
    connection.register("given", ArrowStream(given))  # a reader's connection cannot read Python variables as tables
    connection.execute(sql, parameters)
    connection.unregister("given")


def inline_plain_values(sql: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Insert the plain values among a query's parameters into its SQL, and return it with the parameters that are left.

    A parameter takes as long as half a small query: DuckDB looks for pandas each time if pandas is not installed. Only values
    that cannot be mistaken for SQL are inserted: None, booleans, small integers, texts of letters, digits, spaces and ``_.,:-``,
    and lists of such texts.

    >>> inline_plain_values("select $run, $q", {"run": "b2", "q": "it's"})
    ("select 'b2'::varchar, $q", {'q': "it's"})
    """
    plain = {name: text for name, value in parameters.items() if (text := _plain(value)) and PARAMETER.fullmatch(f"${name}")}
    if not plain:
        return sql, dict(parameters)
    others = {name: value for name, value in parameters.items() if name not in plain}
    return PARAMETER.sub(lambda match: plain.get(match[1], match[0]), sql), others


def _plain(value: object) -> str | None:
    if value is None:
        return "null"
    if type(value) is bool:
        return str(value).lower()
    if type(value) is int and abs(value) < SMALL:
        return f"({value})::integer"
    if type(value) is str and PLAIN.fullmatch(value):
        return f"'{value}'::varchar"
    if type(value) is list and value and all(type(item) is str and PLAIN.fullmatch(item) for item in value):
        return LIST.format(literal(msgspec.json.encode(value).decode()))
    return None


def _parameter(value: object) -> tuple[str, object]:
    """Return SQL for a value, and its parameter ``$value``. A list becomes one text: DuckDB looks for pandas at each value."""
    if isinstance(value, list) and value and all(type(item) is str for item in value):
        return LIST.format("$value"), msgspec.json.encode(value).decode()
    return "$value", value


def literal(text: object) -> str:
    """Return a text as an SQL string literal."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return any name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def first_rows(sql: str, order: str, limit: int | str) -> str:
    """Return SQL for the first rows of a query, each with the number of all rows as its last column, ``total``.

    It does not use ``count(*) over ()``, which in DuckDB 1.5 sometimes fails with an internal error (duckdb/duckdb#22352).
    ``order`` are columns of the query, and ``limit`` a number or SQL for it.

    >>> import duckdb
    >>> duckdb.sql(first_rows("select unnest([3, 1, 2]) as i", "i", 2)).fetchall()
    [(1, 3), (2, 3)]
    """
    total = "(select count(*) from all_rows) as total"
    return f"with all_rows as materialized ({sql}) select *, {total} from all_rows order by {order} limit {limit}"
