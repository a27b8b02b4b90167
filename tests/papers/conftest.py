"""Fixtures for tests with the numbers of the papers."""

import pytest

from clueline.data.store import open_store
from clueline.queries import published_values
from tests.helpers.collected_numbers import numbers


@pytest.fixture(scope="session")
def published():
    """Return a function that gives the rows of a table of numbers that were collected from the papers."""

    def rows(name):
        if name != "published_metrics":
            return numbers(name)
        values = published_values.published().values
        return [
            {
                "paper": value.paper,
                "table": value.table,
                "model": value.model,
                "slice": value.slice,
                "metric": value.metric,
                "value": value.value,
            }
            for value in values
        ]

    return rows


@pytest.fixture(scope="module")
def released():
    """Buzzes of GRACE."""
    rows = numbers("grace_buzzes")
    return [row | {"team_kind": row["team"][0]} for row in rows]  # H1 is a team of people, M1 a model


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """An empty store, without the bundled datasets."""
    return open_store(tmp_path_factory.mktemp("papers") / "store")
