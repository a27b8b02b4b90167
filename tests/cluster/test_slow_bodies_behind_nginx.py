"""Bodies that arrive a byte a second through nginx, with the settings that we ship: other readers are answered meanwhile."""

import http.client
import shutil
from urllib.parse import urlsplit

import pytest

from clueline.dashboard.http.slow_clients import MAX_BODY
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.nginx import balancer
from tests.helpers.serving import start_server
from tests.helpers.slow_bodies import ADDRESSES, MANY, MANY_UPLOADS, UPLOADS, check_reader


@pytest.fixture(scope="module", params=["open", "token"])
def proxied(request, seeded, tmp_path_factory):
    """One server, which nginx takes for both, with a reader's token if one is needed."""
    folder = tmp_path_factory.mktemp("slow")
    store = shutil.copytree(seeded, folder / "store")
    token = Tokens(FolderRegister(store)).create("lab")
    settings = {"read": request.param, "uploads": request.param, "trusted_proxies": "127.0.0.0/8"}
    served = start_server(store, folder / "log", **settings)
    proxy = balancer(folder / "nginx", [served.address] * 2)
    proxy.token = token if request.param == "token" else None
    yield proxy
    proxy.stop()
    served.stop()
    assert "Traceback" not in (folder / "log").read_text(encoding="utf-8")


def test_slow_bodies_stall_no_reader(proxied):
    assert check_reader(proxied.address, ADDRESSES, MANY, proxied.token) == MANY


def test_slow_uploads_stall_no_reader(proxied):
    headers = f"Authorization: Bearer {proxied.token}\r\n" if proxied.token else ""
    check_reader(proxied.address, UPLOADS, MANY_UPLOADS, proxied.token, headers)


@pytest.mark.parametrize("path", ["/api/v1/play", "/login"])
def test_bodies_have_a_maximum_size_at_the_proxy(proxied, path):
    connection = http.client.HTTPConnection(urlsplit(proxied.address).netloc, timeout=300)
    for size, accepted in ((MAX_BODY, True), (MAX_BODY + 1, False)):
        connection.request("POST", path, bytes(size))
        response = connection.getresponse()
        response.read()
        assert (response.status != 413) == accepted
        connection.close()
