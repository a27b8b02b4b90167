"""Clients that close in the middle of a download: their places are free again, and nothing of the file stays."""

import json
import os
import shutil
import socket
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from tests.helpers.process_kills import descendants
from tests.helpers.serving import start_server
from tests.helpers.waiting import wait_until

TIMES = 6  # of each; together more than a worker computes at once


def open_files(pids):
    """Return the deleted and temporary files that processes hold open."""
    names = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                name = os.readlink(link)
            except OSError:
                continue
            if "/clueline-" in name:
                names.add(name)
    return names


def break_off(address, path):
    """Read the beginning of an answer and close the connection."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=120) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_download_that_breaks_off_leaves_nothing(seeded, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    served = start_server(shutil.copytree(seeded, tmp_path / "store"), tmp_path / "log")

    def ask(path):
        with urllib.request.urlopen(f"{served.address}{path}", timeout=120) as answer:
            return answer.read()

    def left():
        """Return what the server keeps of files for downloads, on the disk or only open."""
        kept = {path.name for path in temporary.iterdir()}
        return kept | open_files([served.process.pid, *descendants(served.process.pid)])

    try:
        runs = json.loads(ask("/api/v1/runs?dataset=pyramid"))["runs"]
        paths = [f"/api/v1/runs/{runs[0]['run']}/responses.csv", "/api/v1/report.html?view=%2F%3Fdataset%3Dpyramid"]
        whole = [ask(path) for path in paths]
        assert max(map(len, whole)) > 200_000, "larger than what is on its way at once"
        before = left()
        for path in paths * TIMES:
            break_off(served.address, path)
        wait_until(lambda: left() <= before)
        assert ask(paths[0]) == whole[0] and len(ask(paths[1])) > 200_000
        assert "Traceback" not in served.log.read_text(encoding="utf-8")
    finally:
        served.stop()
