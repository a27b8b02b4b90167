"""The one way to what lies next to the checkout: ``shared``. Without it, the tests that ask for it are skipped."""

import pytest

from clueline.data.store import open_store
from tests.helpers.bundle_factory import records
from tests.helpers.paths import ROOT

SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared():
    """Return a function that gives the path of a folder of real data."""

    def folder(name):
        path = SHARED / name
        if not path.is_dir():
            pytest.skip(f"there is no {path}")
        return path

    return folder


@pytest.fixture(scope="session")
def published(shared):
    """Return a function that gives the rows of a table of numbers that were collected from the papers."""
    return lambda name: records((shared("../published") / f"{name}.csv").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """An empty store, without the bundled datasets."""
    return open_store(tmp_path_factory.mktemp("real") / "store")
