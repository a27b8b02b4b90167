"""What tests of sessions share."""

import pytest


@pytest.fixture
def log(store):
    """The play log of the store that a test module has."""
    return store.register.play_log()
