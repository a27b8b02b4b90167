"""Pages of a served store are read while runs are withdrawn and restored: no page fails, and each shows one version."""

import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from tests.helpers.callback_body import callback_body
from tests.helpers.serving import start_server

PAGES = ("/", "/reliability", "/difficulty", "/buzz", "/compare", "/slices")
CHANGES = 36


def draw(served, path, query="dataset=pyramid"):
    headers = {"Content-Type": "application/json"}
    body = json.dumps(callback_body(path, query)).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"{served.address}/_dash-update-component", body, headers), timeout=300
    ) as answer:
        return json.loads(json.load(answer)["response"]["answer"]["data"])


@pytest.mark.soak
def test_pages_while_the_store_changes(copied, tmp_path):
    """The page Reliability names the run in both its table and its figures, or in neither."""
    served = start_server(copied, tmp_path / "log", workers=2, uploads="open")
    with urllib.request.urlopen(f"{served.address}/api/v1/runs?dataset=pyramid", timeout=60) as answer:
        first = json.load(answer)["runs"][0]
    run, name = first["run"], f"{first['model']} · {first['elicitation']}"
    stop, read, problems = threading.Event(), [], []

    def keep_reading(paths):
        while not stop.is_set():
            for path in paths:
                try:
                    page = draw(served, path)
                except urllib.error.HTTPError as error:
                    problems.append((path, error.code))
                    continue
                read.append(path)
                if path == "/reliability":
                    in_table = any(name in text for text in page["fragments"].values())
                    if in_table != (run in json.dumps(page["figures"])):
                        problems.append((path, "torn"))

    readers = [threading.Thread(target=keep_reading, args=(paths,)) for paths in (PAGES, PAGES[1:3], PAGES[1:3])]
    try:
        for reader in readers:
            reader.start()
        for number in range(CHANGES):
            before = len(read)
            method, path = ("POST", f"/{run}/restore") if number % 2 else ("DELETE", f"/{run}")
            urllib.request.urlopen(urllib.request.Request(f"{served.address}/api/v1/runs{path}", method=method), timeout=300)
            until = time.monotonic() + 300
            while len(read) < before + 5:
                assert time.monotonic() < until, problems
                time.sleep(0.05)
        stop.set()
        for reader in readers:
            reader.join()
    finally:
        stop.set()
        served.stop()
    assert not problems
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
