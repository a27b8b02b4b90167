"""Values reach DuckDB unchanged, whatever they contain."""

import duckdb
import pytest

from clueline.data.duckdb_and_polars import frame


@pytest.mark.parametrize(
    "value",
    [
        ["q1"], ["'; drop table runs; --", '"', "\\", "\0", "a\0b", "\n", "$value", "Ünï 🙂", "", "null"], ["q1", None],
        [1, 2], [True], [["a"], ["b", "c"]], "['q1']", 0.1, "q1", "it's; --", "a\\", "\0", "$given", "", "é",
        5, -5, 2**31 - 1, 2**31, -(2**31), True, None,
    ],
    ids=str,
)  # fmt: skip
def test_a_parameter_has_the_value_that_duckdb_gives_it(value):
    connection = duckdb.connect()
    expected = connection.execute("select $value as value, typeof($value) as type", {"value": value}).fetchall()
    assert frame(connection, "select $given as value, typeof($given) as type", {"given": value}).rows() == expected
