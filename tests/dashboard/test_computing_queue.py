"""Computations wait in a queue that is bounded, in total and per client. What needs no computing is answered meanwhile."""

import json
import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest

from clueline.dashboard import cache as result_cache
from clueline.dashboard.access.dash_requests import CALLBACKS
from clueline.dashboard.cache import (
    AT_ONCE,
    AT_ONCE_FOR_CLIENT,
    PLACES,
    PLACES_FOR_ADDRESS,
    PLACES_FOR_CLIENT,
    RETRY_AFTER,
    SELF,
    Client,
    ClientLimitReached,
    QueueFull,
    ResultCache,
)
from clueline.dashboard.client import Client as PythonClient
from clueline.dashboard.process.server import THREADS
from clueline.queries.query_time_limit import Abandoned, TimeLimitExceeded
from tests.helpers.callback_body import callback_body
from tests.helpers.serving import start_server
from tests.helpers.waiting import wait_until

ANN, BEN, LAB = Client("ann"), Client("ben"), Client("192.0.2.1", shared=True)


def never():
    return False


def test_some_threads_are_always_free():
    assert PLACES_FOR_CLIENT < PLACES_FOR_ADDRESS < PLACES < THREADS and AT_ONCE_FOR_CLIENT < AT_ONCE


@pytest.fixture
def queue(tmp_path):
    return ResultCache("filesystem", tmp_path, 2**20)


@contextmanager
def taken(queue, clients):
    """Let clients take a place each, for computations that differ."""
    with ExitStack() as stack:
        for number, client in enumerate(clients):
            stack.enter_context(queue.place(client, str(number)))
        yield


def test_a_full_queue_refuses_at_once(queue):
    with taken(queue, map(Client, map(str, range(PLACES)))), pytest.raises(QueueFull), queue.place(ANN, "key"):
        pass
    with queue.place(ANN, "key"):
        pass


@pytest.mark.parametrize(("client", "places"), [(ANN, PLACES_FOR_CLIENT), (LAB, PLACES_FOR_ADDRESS)])
def test_a_client_has_only_a_share_of_the_places(queue, client, places):
    with taken(queue, [client] * places):
        with pytest.raises(ClientLimitReached), queue.place(client, "one more"):
            pass
        with queue.place(client, "0"), queue.place(BEN, "one more"):  # the same key again is not another computation
            pass
    with queue.place(client, "one more"):
        pass


def test_one_client_never_takes_every_turn(queue):
    with ExitStack() as stack:
        for _ in range(AT_ONCE_FOR_CLIENT):
            stack.enter_context(queue.turn(ANN, math.inf, never))
        with pytest.raises(TimeLimitExceeded), queue.turn(ANN, time.monotonic(), never):
            pass
        with queue.turn(BEN, time.monotonic() + 60, never):
            pass


def test_a_waiting_computation_starts_when_another_ends(queue, monkeypatch):
    monkeypatch.setattr(result_cache, "AT_ONCE", 1)
    release = threading.Event()

    def compute(client):
        with queue.turn(client, time.monotonic() + 300, never):
            release.wait(300)
            return client

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(compute, client) for client in (ANN, BEN)]
        release.set()
        assert [future.result(300) for future in both] == [ANN, BEN]


def test_who_has_waited_longest_is_next(queue):
    """A client that may not compute more at once is passed over, and keeps its place."""
    began, pool = [], ThreadPoolExecutor(12)

    def compute(client, release):
        with queue.turn(client, time.monotonic() + 300, never):
            began.append(client.name)
            release.wait(300)

    releases = [threading.Event() for _ in range(12)]
    clients = [Client("ann")] * 6 + [Client(f"other {number}") for number in range(6)]
    with pool:
        for number, (client, release) in enumerate(zip(clients, releases, strict=True)):
            pool.submit(compute, client, release)
            wait_until(lambda number=number: len(began) + len(queue.queue) == number + 1)
        wait_until(lambda: len(began) == AT_ONCE)
        assert began == ["ann"] * AT_ONCE_FOR_CLIENT + ["other 0"]
        releases[6].set()
        wait_until(lambda: len(began) == AT_ONCE + 1)
        releases[0].set()
        wait_until(lambda: len(began) == AT_ONCE + 2)
        assert began[AT_ONCE:] == ["other 1", "ann"]
        for release in releases:
            release.set()


def test_a_client_that_left_does_not_wait(tmp_path):
    cache, computing, release = ResultCache("filesystem", tmp_path, 2**20), threading.Event(), threading.Event()
    gone = Client("gone", left=lambda: True)

    def compute():
        computing.set()
        release.wait(300)
        return b"value"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache.get, "key", compute, bytes, 300, ANN)
        computing.wait(300)
        with pytest.raises(Abandoned):
            cache.get("key", compute, bytes, 300, gone)
        release.set()
        assert first.result(300) == b"value"


def test_a_refused_request_is_told_when_to_try_again(fresh):
    queue = fresh.service.cache
    known = fresh.client.get("/api/v1/leaderboard?dataset=tone")
    with taken(queue, [Client("127.0.0.1", shared=True)] * PLACES_FOR_ADDRESS):
        refused = fresh.client.get("/api/v1/leaderboard?dataset=tone&t=0.3")
        assert (refused.status_code, refused.json["error"]["code"]) == (429, "too_many_at_once")
        elsewhere = {"REMOTE_ADDR": "192.0.2.9"}
        assert fresh.client.get("/api/v1/leaderboard?dataset=tone&t=0.3", environ_overrides=elsewhere).status_code == 200
        with taken(queue, map(Client, map(str, range(PLACES - PLACES_FOR_ADDRESS)))):
            for path in ("leaderboard", "questions.csv"):
                full = fresh.client.get(f"/api/v1/{path}?dataset=tone&t=0.4", environ_overrides=elsewhere)
                assert (full.status_code, full.json["error"]["code"]) == (503, "busy")
                assert 1 <= int(full.headers["Retry-After"]) <= 60
            assert fresh.client.get("/api/v1/leaderboard?dataset=tone").json == known.json  # nothing to compute
    assert fresh.client.get("/api/v1/leaderboard?dataset=tone&t=0.4").status_code == 200


def test_a_page_of_a_busy_server_asks_again(fresh):
    body = callback_body("/", "dataset=tone&t=0.7")
    with taken(fresh.service.cache, [SELF] * PLACES):
        busy = json.loads(fresh.client.post(CALLBACKS, json=body).json["response"]["answer"]["data"])
    assert busy["again"] == RETRY_AFTER and "asks again by itself" in json.dumps(busy)
    drawn = json.loads(fresh.client.post(CALLBACKS, json=body).json["response"]["answer"]["data"])
    assert drawn["again"] is None and "asks again by itself" not in json.dumps(drawn)


def test_the_client_asks_again(monkeypatch):
    answers, waited = iter([(503, "3"), (429, "4"), (200, None)]), []

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self):
            status, wait = next(answers)
            self.send_response(status)
            if wait:
                self.send_header("Retry-After", wait)
            self.end_headers()
            self.wfile.write(b'{"datasets": []}')

        def log_message(self, *_):
            pass

    monkeypatch.setattr(time, "sleep", waited.append)
    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever).start()
        with PythonClient(f"http://127.0.0.1:{server.server_port}", timeout=60) as client:
            assert client.datasets().is_empty() and waited == [3, 4]
        server.shutdown()


def test_a_token_is_a_client_wherever_it_comes_from(fresh):
    """Colleagues behind one address do not share a limit, and a token has one limit at all its addresses."""
    tokens = {name: {"Authorization": f"Bearer {fresh.service.access.tokens.create(name)}"} for name in ("ann", "ben")}
    address = "/api/v1/leaderboard?dataset=tone&t=0.6"
    with taken(fresh.service.cache, [ANN] * PLACES_FOR_CLIENT):
        for elsewhere in ("192.0.2.8", "192.0.2.9"):
            refused = fresh.client.get(address, headers=tokens["ann"], environ_overrides={"REMOTE_ADDR": elsewhere})
            assert refused.status_code == 429 and "'ann'" in refused.json["error"]["message"]
        assert fresh.client.get(address, headers=tokens["ben"]).status_code == 200


@pytest.mark.soak
def test_probes_answer_within_a_second(copied, tmp_path):
    """They are asked while forty clients wait for long computations, and after these have hung up."""
    served = start_server(copied, tmp_path / "log", workers=1)
    address = urlsplit(served.address)

    def seconds(path):
        began = time.monotonic()
        assert httpx.get(f"{served.address}{path}", timeout=120).status_code == 200
        return time.monotonic() - began

    try:
        idle = max(seconds(path) for _ in range(20) for path in ("/healthz", "/readyz"))
        clients = [socket.create_connection((address.hostname, address.port)) for _ in range(40)]
        for number, client in enumerate(clients):
            path = f"/api/v1/leaderboard?dataset=lifeeval&intervals=1&binning=mass15&t=0.{number + 100}"
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        slowest = max(seconds(path) for _ in range(20) for path in ("/healthz", "/readyz"))
        for client in clients:
            client.close()
        slowest = max(slowest, *(seconds(path) for _ in range(20) for path in ("/healthz", "/readyz")))
        wait_until(lambda: seconds("/api/v1/datasets") < 5)
    finally:
        served.stop()
    assert slowest < 1 + 10 * idle
