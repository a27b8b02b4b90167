"""Simulations are tests that `make test-slow` runs."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "statistics":
            item.add_marker(pytest.mark.slow)
