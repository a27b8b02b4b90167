"""The small store, imported once."""

import shutil

import pytest

from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.selection import read_facets
from tests.helpers.reference_metrics import Rows
from tests.helpers.small_polls import write_polls, write_quiz
from tests.helpers.small_store import write_relay, write_spans


def imported(folder, *bundles):
    """Import only these bundles into a new store and return it."""
    opened = open_store(folder, threads=2)
    assert not ingest.import_paths(opened, bundles, ImportOptions()).warnings
    return opened


@pytest.fixture(scope="session")
def importing():
    """The function ``imported``, for tests that need a store of their own."""
    return imported


@pytest.fixture(scope="session")
def templates():
    """URLs of stores that were filled once, by the function that filled them."""
    return {}


@pytest.fixture
def empty(tmp_path):
    return open_store(tmp_path / "store", threads=2)


@pytest.fixture
def prefilled(importing, tmp_path, templates, tmp_path_factory):
    """A function that copies the store made by ``fill(importing, folder)`` for the test; ``fill`` is called once per process."""

    def copied(fill):
        if fill not in templates:
            filled = fill(importing, tmp_path_factory.mktemp(fill.__name__))
            filled.close()
            templates[fill] = filled.url
        return open_store(shutil.copytree(templates[fill], tmp_path / "store"), threads=2)

    return copied


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("queries")
    write_relay(root / "relay")
    write_spans(root / "spans")
    opened = imported(root / "store", root / "relay", root / "spans")
    opened.write(lambda connection: connection.execute("update runs set withdrawn_at = now()::timestamp where model = 'gone'"))
    return opened


@pytest.fixture(scope="session")
def snapshot(store):
    return store.snapshot()


@pytest.fixture(scope="session")
def bundled(seeded):
    """The bundled datasets."""
    return open_store(seeded, threads=2).snapshot()


@pytest.fixture(scope="session")
def rows(snapshot):
    return {dataset: Rows.read(snapshot, dataset) for dataset in ("relay", "spans")}


@pytest.fixture(scope="session")
def offered(snapshot):
    return {dataset: read_facets(snapshot, dataset) for dataset in ("relay", "spans")}


@pytest.fixture(scope="session")
def run_of(offered):
    """Ids of the runs of ``relay`` by model and elicitation."""
    return {(model, elicitation): run for run, model, elicitation in offered["relay"].runs}


@pytest.fixture(scope="session")
def polls_folder(tmp_path_factory):
    """The bundle ``polls``; ``quiz`` and ``relay`` are in the same folder."""
    root = tmp_path_factory.mktemp("polled")
    write_polls(root / "polls")
    write_quiz(root / "quiz")
    write_relay(root / "relay")
    return root / "polls"


@pytest.fixture(scope="session")
def polled(polls_folder):
    """A store with the votes of people."""
    root = polls_folder.parent
    return imported(root / "store", root / "polls", root / "quiz", root / "relay").snapshot()


@pytest.fixture(scope="session")
def polled_rows(polled):
    return {dataset: Rows.read(polled, dataset) for dataset in ("polls", "quiz")}


@pytest.fixture(scope="session")
def polled_offered(polled):
    return {dataset: read_facets(polled, dataset) for dataset in ("polls", "quiz")}
