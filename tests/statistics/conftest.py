"""Simulations are tests of `make test-slow`."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "statistics":
            item.add_marker(pytest.mark.slow)
