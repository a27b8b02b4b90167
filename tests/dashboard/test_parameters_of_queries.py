"""Parameters of a query cost no search for a library that is not installed."""

import sys
from importlib.util import find_spec

import duckdb
import pytest

import dashboard

pytestmark = pytest.mark.skipif(bool(find_spec("pandas")), reason="pandas is installed, so that DuckDB looks for it once")


@pytest.fixture
def searched(monkeypatch):
    """Names of the modules that are looked for."""
    names = []

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            names.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    return names


def test_no_parameter_is_a_search_for_pandas(searched):
    parameters = {"names": ["a", "b"], "name": "a"}
    assert duckdb.connect().execute("select list_contains($names::varchar[], $name)", parameters).fetchall() == [(True,)]
    assert dashboard and "pandas" not in searched


def test_duckdb_searches_unless_told_that_there_is_none(searched, pandas_not_ruled_out):
    """Should it search no more, then dashboard/__init__.py need not forestall it."""
    duckdb.connect().execute("select $name", {"name": "a"})
    assert "pandas" in searched
