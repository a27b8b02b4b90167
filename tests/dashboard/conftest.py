"""The app on a seeded store, called without a network."""

import shutil
from types import SimpleNamespace

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings


@pytest.fixture(scope="session")
def app(seeded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("app") / "store"
    shutil.copytree(seeded, folder)
    return create_app(Settings(store=str(folder), workers=1))


@pytest.fixture(scope="session")
def client(app):
    return app.test_client()


@pytest.fixture(scope="session")
def snapshot(app):
    return app.extensions["clueline"].snapshot()


@pytest.fixture
def fresh(copied):
    """A separate app on a copy of the seeded store, for tests that write to it."""
    made = create_app(Settings(store=str(copied), workers=1))
    return SimpleNamespace(app=made, client=made.test_client(), store=copied, service=made.extensions["clueline"])


@pytest.fixture
def app_taking_uploads(copied):
    """Create apps on a copy of the seeded store, with uploads for token holders, for everybody, or off."""
    return lambda mode: create_app(Settings(store=str(copied), workers=1, uploads=mode))
