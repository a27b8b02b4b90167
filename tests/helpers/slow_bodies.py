"""Clients that send the bodies of their requests a byte a second, and a reader beside them."""

import contextlib
import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

from clueline.dashboard.process.server import THREADS

MANY = THREADS + 20  # more than the threads of a worker
MANY_UPLOADS = 40  # more than its threads for uploads
FLOOR = 1.0  # seconds in which a page may be answered on any machine
TIMES = 10  # how many times as long as before a page may take, while other clients and this one share the processor
ADDRESSES = (
    "POST /api/v1/play", "POST /api/v1/write/guesses", "POST /_dash-update-component", "POST /login", "POST /nothing",
    "DELETE /api/v1/runs/none", "GET /", "GET /healthz",
)  # fmt: skip
UPLOADS = ("POST /api/v1/runs?dataset=pyramid&model=slow", "POST /api/v1/datasets")
FRAMINGS = (("Content-Length: 100000", b"{"), ("Transfer-Encoding: chunked", b"1\r\n{\r\n"))  # and how they send a byte
DRAWN = {
    "output": "answer.data", "outputs": {"id": "answer", "property": "data"}, "changedPropIds": ["request.data"],
    "inputs": [{"id": "request", "property": "data", "value": {"path": "/", "query": "", "page": True}}],
}  # fmt: skip


def client_address(number):
    """Return one of many loopback addresses, so that limits for one client do not apply to all together."""
    return f"127.0.{1 + number // 200}.{1 + number % 200}"


@contextlib.contextmanager
def slow_bodies(address, requests, many, headers=""):
    """Keep so many connections open during the block, each with one of the requests, whose body arrives a byte a second.

    Half of them state a length, half send chunks. Yields a function that returns how many still wait for a response. Refused
    uploads are sent again on new connections.
    """
    host, port = urlsplit(address).hostname, urlsplit(address).port
    done = threading.Event()

    def sent(number):
        return requests[number % len(requests)], *FRAMINGS[number // len(requests) % 2]

    def connect(number):
        connection = socket.create_connection((host, port), timeout=60, source_address=(client_address(number), 0))
        request, framing, byte = sent(number)
        head = f"{request} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n{framing}\r\n{headers}\r\n"
        connection.sendall(head.encode() + byte)
        connection.setblocking(False)
        return connection

    connections = [connect(number) for number in range(many)]

    def is_waiting(connection):
        try:
            connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def send():
        while not done.wait(1):
            for number, connection in enumerate(connections):
                if is_waiting(connection):
                    with contextlib.suppress(OSError):
                        connection.send(sent(number)[-1])
                else:
                    connection.close()
                    connections[number] = connect(number)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield lambda: sum(map(is_waiting, connections))
    finally:
        done.set()
        sending.join()
        for connection in connections:
            connection.close()


def read_pages(address, count=10, token=None):
    """Load a page, as a browser does, and a JSON address, from the address of a slow client. Return the most seconds it took."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    slowest = 0.0
    for _ in range(count):
        began = time.monotonic()
        for method, path, body in (
            ("GET", "/", None),
            ("POST", "/_dash-update-component", json.dumps(DRAWN)),
            ("GET", "/api/v1/leaderboard?dataset=pyramid", None),
        ):
            connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=300, source_address=(client_address(0), 0))
            connection.request(method, path, body, headers | ({"Content-Type": "application/json"} if body else {}))
            response = connection.getresponse()
            assert response.read() and response.status == 200, response.status
            connection.close()
        slowest = max(slowest, time.monotonic() - began)
    return slowest


def check_reader(address, requests, many, token=None, headers=""):
    """Check that pages are answered beside slow bodies as they are without them. Return how many of these still wait."""
    read_pages(address, 2, token)  # now the results are cached
    idle = read_pages(address, 3, token)
    with slow_bodies(address, requests, many, headers) as waiting:
        beside = read_pages(address, token=token)
        left = waiting()
    print(f"slowest page: {idle:.2f} s, then {beside:.2f} s beside {many} slow bodies; {left} of these still wait")
    assert beside < max(FLOOR, TIMES * idle)
    return left
