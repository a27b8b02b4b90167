"""A server that is sent what no page and no client sends."""

import shutil

import pytest

from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import start_server


@pytest.fixture(scope="package")
def network(seeded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    store = shutil.copytree(seeded, folder / "store")
    token = Tokens(FolderRegister(store)).create("lab")
    served = start_server(store, folder / "log", workers=1)
    served.token = token
    yield served
    served.stop()
