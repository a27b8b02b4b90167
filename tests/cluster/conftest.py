"""Fixtures: stores of every kind, on real servers."""

import pytest

from clueline.data.store import open_store
from tests.helpers import postgres_server, s3_server
from tests.helpers.store_addresses import KINDS, new_address


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/cluster/" in str(item.path):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def postgres():
    assert postgres_server.find_programs(), "PostgreSQL is not installed"
    server = postgres_server.PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def s3():
    assert s3_server.is_installed(), "Ceph's object gateway is not installed"
    server = s3_server.S3Server()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server
    server.remove()


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    """Address of a new store."""
    return new_address(request, request.param, tmp_path)


@pytest.fixture
def store(url):
    """A new store."""
    opened = open_store(url, threads=1)
    yield opened
    opened.close()


@pytest.fixture
def other_host(url, tmp_path):
    """The same store opened by another host, which has a local folder of its own."""
    shared = url.replace(f"local={tmp_path / 'local'}", f"local={tmp_path / 'other'}")
    opened = open_store(shared, threads=1)
    yield opened
    opened.close()
