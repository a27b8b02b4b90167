"""Bodies that arrive a byte a second hold no thread of pages: other readers are answered as if nobody sent them."""

import contextlib
import http.client
import json
import select
import shutil
import socket
from urllib.parse import urlsplit

import pytest

from clueline.dashboard.http.slow_clients import MAX_BODY, MAX_RECEIVED
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import start_server
from tests.helpers.slow_bodies import ADDRESSES, MANY, MANY_UPLOADS, UPLOADS, check_reader, read_pages
from tests.helpers.waiting import wait_until


@pytest.fixture(scope="module")
def server(seeded, tmp_path_factory):
    """A server for holders of tokens. Where none is needed, it receives in the same way."""
    folder = tmp_path_factory.mktemp("slow")
    store = shutil.copytree(seeded, folder / "store")
    token = Tokens(FolderRegister(store)).create("lab")
    served = start_server(store, folder / "log", workers=1, read="token")
    served.token = token
    yield served
    served.stop()
    assert "Traceback" not in (folder / "log").read_text(encoding="utf-8")


def test_slow_bodies_stall_no_reader(server):
    assert check_reader(server.address, ADDRESSES, MANY, server.token) == MANY


@pytest.mark.parametrize("right", [True, False])
def test_slow_uploads_stall_no_reader(server, right):
    headers = f"Authorization: Bearer {server.token if right else 'wrong'}\r\n"
    check_reader(server.address, UPLOADS, MANY_UPLOADS, server.token, headers)


def test_bodies_that_arrive_take_limited_memory(server):
    """Beyond that, a large body is refused, until the others have gone. Small ones are received."""
    host, port = urlsplit(server.address).hostname, urlsplit(server.address).port

    def status_and_code(size):
        connection = http.client.HTTPConnection(host, port, timeout=300)
        connection.request("POST", "/api/v1/play", bytes(size))
        response = connection.getresponse()
        code = json.load(response)["error"]["code"]
        connection.close()
        return response.status, code

    head = f"POST /api/v1/play HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {MAX_BODY}\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        waiting, refused = [], []
        while not refused:
            assert len(waiting) < 2 * MAX_RECEIVED // MAX_BODY
            waiting.append(stack.enter_context(socket.create_connection((host, port), timeout=300)))
            with contextlib.suppress(ConnectionError):  # refused before all is sent
                waiting[-1].sendall(head + bytes(MAX_BODY - 1))  # it lacks its last byte
            refused = select.select(waiting, [], [], 0)[0]
        assert refused[0].recv(100).startswith(b"HTTP/1.1 503 ")
        assert status_and_code(10)[0] == 400
        read_pages(server.address, 1, server.token)
    wait_until(lambda: status_and_code(MAX_BODY // 2)[0] == 400)
