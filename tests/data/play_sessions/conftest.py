"""Fixtures that tests of play sessions share."""

import pytest


@pytest.fixture
def log(store):
    """The play log of the store fixture of a test module."""
    return store.register.play_log()
