"""nginx between two servers, with the settings that we ship: one lost connection beside a server that is down is no error."""

import socket
import threading
import urllib.request
from contextlib import suppress

import pytest

from tests.helpers.nginx import balancer
from tests.helpers.serving import free_port

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


class HangsUp:
    """A server that answers, and that hangs up ``lost`` times first."""

    def __init__(self):
        self.lost = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        with suppress(OSError):  # the socket is closed at the end
            while True:
                connection, _ = self.socket.accept()
                with connection, suppress(ConnectionError):
                    connection.recv(65536)
                    if self.lost:
                        self.lost -= 1
                    else:
                        connection.sendall(ANSWER)

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.fixture
def flaky():
    server = HangsUp()
    yield server
    server.stop()


def test_a_connection_lost_while_another_server_is_down(flaky, tmp_path):
    proxy = balancer(tmp_path / "nginx", [f"http://127.0.0.1:{free_port()}", flaky.address])
    try:
        flaky.lost = 1
        for _ in range(20):
            with urllib.request.urlopen(proxy.address, timeout=60) as response:
                assert response.read() == b"ok"
        assert not flaky.lost
    finally:
        proxy.stop()
