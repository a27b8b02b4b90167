"""A thousand connections, and bodies that never end: others are answered meanwhile, and everybody afterwards."""

import http.client
import json
import resource
import shutil
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from tests.helpers.process_kills import CLUES, QUESTION, content
from tests.helpers.serving import run_cli, start_server
from tests.helpers.soak_figures import note

MANY = 1000
PATIENT = 60.0  # seconds until another client must be answered, on a busy machine too; it never is if all threads are held


@pytest.fixture(scope="module")
def network(seeded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowds")
    served = start_server(shutil.copytree(seeded, folder / "store"), folder / "log")
    served.token = run_cli("token", "create", "lab", store=served.store).stdout.strip()
    yield served
    served.stop()
    assert "Traceback" not in (folder / "log").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def open_files():
    """Raise the limit of open files to what these tests need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"a process may have {hard} open files here, and this needs {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted) if soft != resource.RLIM_INFINITY else soft, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def place(network):
    address = urlsplit(network.address)
    return address.hostname, address.port


def ask(network, path="/api/v1/runs", method="GET", body=None, headers=None, patience=120):
    """Return the status of a request, and the seconds until it was answered."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(*place(network), timeout=patience)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, time.monotonic() - began


def test_a_thousand_connections_that_say_nothing(network):
    """They hold no thread: gunicorn waits for all of them at once."""
    sockets = [socket.create_connection(place(network), timeout=60) for _ in range(MANY)]
    try:
        meanwhile = [ask(network) for _ in range(5)]
    finally:
        for sock in sockets:
            sock.close()
    after = ask(network)
    assert [status for status, _ in [*meanwhile, after]] == [200] * 6
    slowest = max(seconds for _, seconds in meanwhile)
    assert slowest < PATIENT
    note("silent", [(f"an answer while {MANY:,} connections say nothing, slowest of 5", f"{slowest:.2f} s")])


@pytest.mark.soak
def test_a_thousand_readers_at_once(network):
    """Every request is answered."""
    answers, gate = [], threading.Barrier(50)

    def read():
        gate.wait()
        answers.extend(ask(network, "/healthz" if index % 2 else "/api/v1/runs") for index in range(MANY // 50))

    threads = [threading.Thread(target=read) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(answers) == MANY and {status for status, _ in answers} == {200}
    assert ask(network)[0] == 200
    note("readers", [(f"{MANY:,} requests over 50 connections at once, slowest", f"{max(s for _, s in answers):.2f} s")])


def test_headers_that_do_not_end_block_nobody(network):
    """They hold no thread: a connection gets one when its headers are complete."""
    sockets = [socket.create_connection(place(network), timeout=60) for _ in range(MANY)]
    try:
        for sock in sockets:
            sock.sendall(b"GET / HTTP/1.1\r\nX-")
        meanwhile = [ask(network) for _ in range(5)]
    finally:
        for sock in sockets:
            sock.close()
    assert [status for status, _ in meanwhile] == [200] * 5
    slowest = max(seconds for _, seconds in meanwhile)
    assert slowest < PATIENT
    note("headers", [(f"an answer while {MANY:,} connections do not end their headers, slowest of 5", f"{slowest:.2f} s")])


def test_headers_that_come_byte_by_byte_are_answered(network):
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(place(network), timeout=60) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):  # the second time on the connection that is kept open
            for byte in request:
                sock.sendall(bytes([byte]))
            answer = b""
            while b"}" not in answer:
                answer += sock.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200 ")
        sock.sendall(request + request)
        answer = b""
        while answer.count(b"}") < 2:
            answer += sock.recv(4096)
        assert answer.count(b"HTTP/1.1 200 ") == 2


def test_headers_that_break_off_end_the_connection(network):
    with socket.create_connection(place(network), timeout=60) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(4096) == b""


def test_a_thousand_connections_each_with_a_request(network):
    """All requests are sent before one is read, and the client closes no connection before all are answered."""
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    sockets = [socket.create_connection(place(network), timeout=120) for _ in range(MANY)]
    try:
        began = time.monotonic()
        for sock in sockets:
            sock.sendall(request)
        status, seconds = ask(network)
        statuses = [sock.recv(200)[9:12] for sock in sockets]
        lasted = time.monotonic() - began
    finally:
        for sock in sockets:
            sock.close()
    assert status == 200 and statuses == [b"200"] * MANY
    note("crowd", [(f"{MANY:,} connections with a request each, until all are answered", f"{lasted:.1f} s"),
                   ("somebody else's answer meanwhile", f"{seconds:.2f} s")])  # fmt: skip


@pytest.mark.soak
def test_readers_who_do_not_read_are_cut_off(network):
    """There are more of them than threads, each with an answer too large for the buffers in between."""
    token = {"Authorization": f"Bearer {network.token}"}
    guess = "long " * 50_000
    lines = [json.dumps({"question_id": QUESTION, "clue": clue, "guess": guess * 6, "confidence": 0.5}) for clue in range(CLUES)]
    body = "\n".join(lines).encode()
    path = "/api/v1/runs?dataset=pyramid&model=long&filename=long.jsonl"
    assert ask(network, path, "POST", body, token, patience=120)[0] == 201
    runs = http.client.HTTPConnection(*place(network), timeout=20)
    runs.request("GET", "/api/v1/runs?dataset=pyramid")
    (run,) = (run["run"] for run in json.loads(runs.getresponse().read())["runs"] if run["model"] == "long")
    runs.close()
    sockets = []
    try:
        # Two workers have 32 threads each, but connections are not shared evenly: this shows nothing until others have to wait.
        since = time.monotonic()
        while len(sockets) < 30 or not waits(network):
            assert len(sockets) < 200, "nobody waits"
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(60)
            sock.connect(place(network))
            sock.sendall(f"GET /api/v1/runs/{run}/responses.csv HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            sockets.append(sock)
            since = time.monotonic()
        status, _ = ask(network, patience=300)
        seconds = time.monotonic() - since
    finally:
        for sock in sockets:
            sock.close()
    assert status == 200
    assert seconds < 30 * (-(-len(sockets) // 32) + 1)  # at worst, all of them come before it in one worker, 32 at a time
    note("unread", [(f"an answer while {len(sockets)} connections do not read theirs", f"{seconds:.0f} s")])


def waits(network):
    """Return whether another client has to wait for its answer, longer than it takes to compute one."""
    try:
        ask(network, patience=10)
    except TimeoutError:
        return True
    return False


@pytest.mark.soak
def test_bodies_that_trickle_are_cut_off(network):
    """A byte a second: uploads are given up after a minute, other bodies after half a minute, each with the reason."""
    bearer = f"Authorization: Bearer {network.token}\r\n"
    upload = f"POST /api/v1/runs?dataset=pyramid&model=slow HTTP/1.1\r\nHost: localhost\r\n{bearer}Content-Length: 100000\r\n\r\n"
    kind = "Content-Type: application/json\r\n"
    page = f"POST /_dash-update-component HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: 9999\r\n\r\n"
    sockets = [socket.create_connection(place(network), timeout=120) for _ in range(6)]
    began = time.monotonic()
    ended: dict[int, tuple[float, bytes]] = {}
    slowest = 0.0
    try:
        for index, sock in enumerate(sockets):
            sock.sendall((upload if index < 4 else page).encode())
            sock.setblocking(False)
        while len(ended) < len(sockets) and time.monotonic() - began < 150:
            for index, sock in enumerate(sockets):
                if index in ended:
                    continue
                try:
                    if data := sock.recv(300):
                        ended[index] = (time.monotonic() - began, data)
                        continue
                    ended[index] = (time.monotonic() - began, b"")
                    continue
                except BlockingIOError:
                    pass
                try:
                    sock.sendall(b"{")
                except OSError:
                    ended[index] = (time.monotonic() - began, b"")
            status, seconds = ask(network, "/healthz")
            assert status == 200
            slowest = max(slowest, seconds)
            time.sleep(1)
    finally:
        for sock in sockets:
            sock.close()
    assert slowest < PATIENT
    assert len(ended) == len(sockets), "a trickle is waited for without end"
    assert max(seconds for seconds, _ in ended.values()) < 120
    assert all(data.startswith(b"HTTP/1.1 408 ") for _, data in ended.values()), ended
    assert ask(network, "/api/v1/runs?dataset=pyramid&model=after", "POST", content("after").encode(),
               {"Authorization": f"Bearer {network.token}"})[0] == 201  # fmt: skip
    longest = max(seconds for seconds, _ in ended.values())
    note("trickle", [("bodies of a byte a second, given up after at most", f"{longest:.0f} s"),
                     ("slowest answer to others meanwhile", f"{slowest:.2f} s")])  # fmt: skip
