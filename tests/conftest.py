"""Fixtures that tests of several folders share: a seeded store, the command line, a served store."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# A test process per core is enough. numpy's threads would wait for each other, which took a fifth of the processor time of
# tests/queries/engine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

pytest.register_assert_rewrite("tests.helpers")  # a failed assert of a helper then shows its values as well

from tests.helpers.examples import PROFILE  # noqa: E402
from tests.helpers.serving import call_cli, run_cli, start_server  # noqa: E402

# No test needs a quiet machine: by default, Hypothesis fails an example that takes 200 ms. `make test` tries the same examples
# at each run, so that it fails only because of a change; the long runs look for new examples.
settings.register_profile("any machine", deadline=None, derandomize=PROFILE == "default")
settings.load_profile("any machine")


@pytest.fixture
def served(copied, tmp_path):
    """A server for one test, which can stop it."""
    started = start_server(copied, tmp_path / "log", workers=1)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server(seeded, tmp_path_factory):
    """A server on a copy of the seeded store."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(seeded, folder / "store", ignore=shutil.ignore_patterns("cache"))
    served = start_server(folder / "store", folder / "log")
    yield served
    served.stop()


@pytest.fixture(scope="session")
def seeded(tmp_path_factory):
    """Folder of a store with the bundled datasets that need no models. Tests that write to it use ``copied``."""
    from clueline.data.store import open_store
    from tests.helpers.stores import seed_without_models

    folder = tmp_path_factory.mktemp("seeded") / "store"
    seed_without_models(open_store(folder))
    return folder


@pytest.fixture(scope="session")
def first_start(tmp_path_factory):
    """Folder of a store as the first start makes it, with all bundled datasets. No test writes to it."""
    from clueline.data.importing.seed import seed
    from clueline.data.store import open_store

    folder = tmp_path_factory.mktemp("first_start") / "store"
    seed(open_store(folder, threads=1))
    return folder


@pytest.fixture
def copied(seeded, tmp_path):
    """A copy of the seeded store, without results that another test has cached in it."""
    return Path(shutil.copytree(seeded, tmp_path / "store", ignore=shutil.ignore_patterns("cache")))


@pytest.fixture(scope="session")
def cli():
    """The command line, run in this process."""
    return call_cli


@pytest.fixture(scope="session")
def cli_process():
    """The command line in its own process, for tests with several processes or a damaged store."""
    return run_cli
