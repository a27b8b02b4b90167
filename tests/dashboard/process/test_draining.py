"""A server told to end, and one whose threads are all taken: probes report its state, and begun requests are finished."""

import contextlib
import fcntl
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from clueline.dashboard.process.server import THREADS
from clueline.dashboard.uploads.import_process import TIME_LIMIT, ImportJob
from clueline.data.importing.staging import ImportOptions
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment, start_server
from tests.helpers.waiting import wait_until

LARGE_FILE = b"/_dash-component-suites/plotly/package_data/plotly.min.js"
BODY = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n"


def status(served, path):
    """Return status and JSON of an answer on a new connection; 0 and None if nobody listens."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.load(answer)
    except (ConnectionRefusedError, ConnectionResetError):
        return 0, None
    finally:
        connection.close()


@pytest.fixture
def serving(copied, tmp_path):
    """Start servers that take uploads."""
    servers = []
    token = Tokens(FolderRegister(copied)).create("lab")

    def start(**settings):
        served = start_server(copied, tmp_path / "log", **settings)
        served.token = token
        servers.append(served)
        return served

    yield start
    for served in servers:
        if served.process.poll() is None:
            os.killpg(served.process.pid, signal.SIGKILL)
            served.process.wait()


def begin_upload(served, model="late"):
    """Send an upload except its last byte."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=120)
    connection.putrequest("POST", f"/api/v1/runs?dataset=pyramid&model={model}")
    connection.putheader("Authorization", f"Bearer {served.token}")
    connection.putheader("Content-Length", str(len(BODY)))
    connection.endheaders(BODY[:-1])
    wait_until(lambda: list((served.store / "incoming").glob("*/file")))  # a thread is receiving it
    return connection


def end_upload(connection):
    connection.send(BODY[-1:])
    answer = connection.getresponse()
    return answer.status, json.load(answer)


def test_uploads_that_have_begun_are_finished(serving):
    """Nobody new is let in meanwhile, and a proxy that is refused tries the next server. Connections that say nothing, whose
    time limit is 30 s, do not delay the end, and no process ends with an error.
    """
    began = time.monotonic()
    served = serving()
    seconds_to_start = time.monotonic() - began
    assert status(served, "/api/v1/leaderboard?dataset=pyramid")[0] == 200  # DuckDB and polars have started their threads
    place = urlsplit(served.address)
    silent = [socket.create_connection((place.hostname, place.port)) for _ in range(5)]
    upload = begin_upload(served)
    os.kill(served.process.pid, signal.SIGTERM)
    wait_until(lambda: status(served, "/readyz")[0] == 0)
    assert served.process.poll() is None
    code, answer = end_upload(upload)
    assert code == 201 and answer["runs"][0]["model"] == "late"
    began = time.monotonic()
    assert served.process.wait(300) == 0
    assert time.monotonic() - began < seconds_to_start + 25
    for connection in silent:
        connection.close()
    log = served.log.read_text()
    assert "SIG" not in log and "terminate called" not in log and "Traceback" not in log, log


def test_readyz_fails_at_once_while_requests_are_taken(serving):
    """A second SIGTERM ends the wait, whatever has begun."""
    served = serving(drain_notice_seconds=300)
    upload = begin_upload(served)
    os.kill(served.process.pid, signal.SIGTERM)
    wait_until(lambda: all(status(served, "/readyz")[0] == 503 for _ in range(10)))  # each worker
    assert status(served, "/readyz")[1]["error"]["code"] == "draining"
    assert status(served, "/healthz")[0] == status(served, "/api/v1/datasets")[0] == 200
    assert end_upload(upload)[0] == 201
    begin_upload(served)
    assert served.process.poll() is None
    os.kill(served.process.pid, signal.SIGTERM)
    assert served.process.wait(300) == 0


def test_the_wait_is_bounded_by_a_setting(serving):
    served = serving(workers=1, drain_seconds=1)
    begin_upload(served)
    os.kill(served.process.pid, signal.SIGTERM)
    assert served.process.wait(300) == 0


def test_an_import_survives_a_signal_for_the_server(copied, tmp_path):
    """systemd tells every process of a service to end, including those that read uploads."""
    (tmp_path / "file").write_bytes(BODY)
    options = ImportOptions(dataset="pyramid", model="late")
    job = ImportJob(str(copied), str(tmp_path / "file"), "file.csv", options, "lab", False, 2**20, 10)
    command = [sys.executable, "-m", "clueline.dashboard.uploads.import_process"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment(store=copied),
        start_new_session=True,  # it lowers the priority of its session
    ) as process:
        wait_until(lambda: ignores(process.pid, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(msgspec.json.encode(job), timeout=120)
    assert process.returncode == 0 and json.loads(output)["type"] == "accepted"


def ignores(pid, number):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:"))
    return bool(mask >> (number - 1) & 1)


def test_probes_are_answered_while_every_thread_is_taken(serving):
    served = serving(workers=1)
    stalled = []
    for _ in range(2 * THREADS):  # a response that is not read takes a thread for half a minute
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((urlsplit(served.address).hostname, urlsplit(served.address).port))
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % LARGE_FILE * 4)  # larger than any buffer in between
        stalled.append(connection)
    other = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=3)
    other.request("GET", "/api/v1/datasets")
    with pytest.raises(TimeoutError):
        other.sock.recv(1)
    for _ in range(5):
        assert status(served, "/healthz")[0] == status(served, "/readyz")[0] == 200
    other.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        other.sock.recv(1)  # it still waits for a thread
    for connection in (other, *stalled):
        connection.close()


def children(pid):
    """Return the ids of the processes that a process started, in any of its threads."""
    return [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text("ascii").split()]


def is_running(pid):
    """Return whether a process runs. One that has ended can stay in the process table until its new parent looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextlib.contextmanager
def held_lock(store):
    """Hold the writers' lock, so that imports wait."""
    with (store / "LOCK").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def importers(server):
    """Return the ids of the processes that import for the workers of a server."""
    return [pid for worker in children(server) for pid in children(worker)]


def send_upload(served):
    """Send an upload whose import waits for the lock."""
    upload = begin_upload(served)
    upload.send(BODY[-1:])
    wait_until(lambda: list((served.store / "incoming").glob("*/clueline-scratch*")))
    return upload


def test_imports_end_with_their_sender_and_their_server(serving):
    """The workers of a killed server end with it, too, so that it can be started again at once."""
    served = serving(workers=2)
    workers = children(served.process.pid)
    assert len(workers) == 2
    with held_lock(served.store):
        send_upload(served).close()
        wait_until(lambda: not list((served.store / "incoming").glob("*/file")))
    assert [run["model"] for run in status(served, "/api/v1/runs")[1]["runs"] if run["model"] == "late"] == []
    with held_lock(served.store):
        upload = send_upload(served)
        working = importers(served.process.pid)
        limits = [Path(f"/proc/{pid}/limits").read_text() for pid in working]
        seconds = [re.search(r"Max cpu time +(\d+)", text) for text in limits]  # a spare process has none before its first job
        stated = [int(limit[1]) for limit in seconds if limit]
        assert stated and all(limit % TIME_LIMIT == 0 and limit >= 2 * TIME_LIMIT for limit in stated)  # the same for each thread
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait()
        wait_until(lambda: not [pid for pid in working if is_running(pid)])
    again = serving(workers=1, port=urlsplit(served.address).port)
    assert not [worker for worker in workers if is_running(worker)]
    assert status(again, "/readyz")[0] == 200
    upload.close()
