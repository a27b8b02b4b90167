"""What the tests of several folders share: a seeded store, the command line, a served store."""

import shutil
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.helpers")  # a failed assert of a helper shows its values, too

from tests.helpers.examples import PROFILE  # noqa: E402
from tests.helpers.serving import call_cli, run_cli, start_server  # noqa: E402

# No test depends on a quiet machine: by default, an example that takes 200 ms is a failure. `make test` tries the same examples
# at each run, so that it fails for what was changed; the long runs look for new ones.
settings.register_profile("any machine", deadline=None, derandomize=PROFILE == "default")
settings.load_profile("any machine")


@pytest.fixture
def served(copied, tmp_path):
    """A server for one test, which may end it."""
    started = start_server(copied, tmp_path / "log", workers=1)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server on a store that was empty when it started, so that it holds the bundled datasets."""
    folder = tmp_path_factory.mktemp("served")
    served = start_server(folder / "store", folder / "log")
    yield served
    served.stop()


@pytest.fixture(scope="session")
def seeded(tmp_path_factory):
    """Folder of a store with the bundled datasets; who writes to it takes a copy with ``copied``."""
    from data.importing.seed import seed
    from data.store import open_store

    folder = tmp_path_factory.mktemp("seeded") / "store"
    seed(open_store(folder))
    return folder


@pytest.fixture
def copied(seeded, tmp_path):
    """A copy of the seeded store, without results that another test may have cached in it."""
    return Path(shutil.copytree(seeded, tmp_path / "store", ignore=shutil.ignore_patterns("cache")))


@pytest.fixture(scope="session")
def cli():
    """The command line, in this process."""
    return call_cli


@pytest.fixture(scope="session")
def cli_process():
    """The command line in a process of its own, for tests that several processes or a damaged store are part of."""
    return run_cli
