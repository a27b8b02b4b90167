# ruff: noqa: E501
"""Requests that none of our pages and clients sends: each gets its 4xx status, without a traceback or a path."""

import json
import re
import socket

import pytest

from tests.helpers.callback_body import callback_body

HEAD = "Host: 127.0.0.1\r\nConnection: close\r\n"
JSON = "Content-Type: application/json\r\n"
CALLBACK = "/_dash-update-component"
SUITES = "/_dash-component-suites"
DRAWN = callback_body()


def request(method, path, headers="", body=""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\n{HEAD}{headers}{length}\r\n{body}"


def callback(body):
    return request("POST", CALLBACK, JSON, body if isinstance(body, str) else json.dumps(body))


REQUESTS = {
    "an unknown file of Dash": (request("GET", f"{SUITES}/dash/nothing.js"), 404),
    "a way out of Dash's files": (request("GET", f"{SUITES}/dash/../../duckdb/__init__.py"), 404),
    "a hidden way out of Dash's files": (request("GET", f"{SUITES}/dash/%2e%2e/%2e%2e/duckdb/__init__.py"), 404),
    "a file of an unknown package": (request("GET", f"{SUITES}/nosuch/x.js"), 404),
    "a file of Python's own": (request("GET", f"{SUITES}/os/x.js"), 404),
    "a folder of Dash": (request("GET", f"{SUITES}/dash/"), 404),
    "Dash's code": (request("GET", f"{SUITES}/dash/dash.py"), 404),
    "a NUL in a name": (request("GET", f"{SUITES}/dash/%00.js"), 404),
    "a way out of the assets": (request("GET", "/assets/../dashboard/app.py"), 404),
    "an unknown asset": (request("GET", "/assets/none.css"), 404),
    "an unknown address of Dash": (request("GET", "/_dash-nothing"), 404),
    "a callback with GET": (request("GET", CALLBACK), 404),
    "a callback without a body": (request("POST", CALLBACK), 415),
    "a callback as text": (request("POST", CALLBACK, "Content-Type: text/plain\r\n", "hello"), 415),
    "a callback that is no JSON": (callback("{"), 400),
    "the layout with POST": (request("POST", "/_dash-layout"), 405),
    "a method that does not exist": (request("FOO", "/"), 405),
    "TRACE": (request("TRACE", "/"), 405),
    "PUT": (request("PUT", "/api/v1/runs"), 405),
    "CONNECT": (f"CONNECT 127.0.0.1:1 HTTP/1.1\r\n{HEAD}\r\n", 405),
    "a host in the address": (request("GET", "http://evil.example/"), 400),
    "half an address of IPv6": (request("GET", "http://[/"), 400),
    "another host": ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
    "no host": ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 403),
    "two hosts": (f"GET / HTTP/1.1\r\nHost: a\r\n{HEAD}\r\n", 400),
    "two lengths of a body": (f"POST /api/v1/runs HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks of chunks": (f"POST /api/v1/runs HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "a bad chunk of an upload": (f"POST /api/v1/runs HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nZZ\r\n\r\n", (400, 401)),
    "a bad chunk of a callback": (f"POST {CALLBACK} HTTP/1.1\r\n{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\nZZ\r\n\r\n", 400),
    "a length below 0": (f"POST /api/v1/runs HTTP/1.1\r\n{HEAD}Content-Length: -5\r\n\r\n", 400),
    "a body that is too long": (f"POST {CALLBACK} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: 99999999999\r\n\r\n", 413),
    "a long path": (request("GET", f"/{'a' * 70_000}"), 414),
    "a path that is no UTF-8": (request("GET", "/questions/pyramid/%ff%fe"), 404),
    "a query that is no UTF-8": (request("GET", "/?dataset=%ff%fe"), 400),
    "a NUL in a query": (request("GET", "/api/v1/leaderboard?dataset=%00"), 400),
    "many cookies": (request("GET", "/", f"Cookie: {'a=b;' * 3000}\r\n"), 431),
    "a range beyond the end": (request("GET", "/assets/clueline.css", "Range: bytes=99999999-\r\n"), 416),
    "a NUL in a header": (request("GET", "/assets/clueline.css", "If-None-Match: \x00\r\n"), 400),
    "a folded header": (f"GET / HTTP/1.1\r\n{HEAD}X: a\r\n b\r\n\r\n", 400),
    "a header with a bad name": (request("GET", "/", "B@d: a\r\n"), 400),
    "a token that is no text": (request("DELETE", "/api/v1/runs/x", "Authorization: Bearer \xff\xfe\r\n"), 401),
    "another kind of authorization": (request("DELETE", "/api/v1/runs/x", "Authorization: Basic !!!\r\n"), 401),
    "a page of another site": (request("POST", "/api/v1/runs", "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n", "a,b"), (401, 403)),
    "a form without a boundary": (request("POST", "/api/v1/runs", "Content-Type: multipart/form-data\r\n", "x"), (400, 401)),
    "a player in the query": (request("POST", "/api/v1/play?player=a", JSON, "{}"), 400),
    "a player from another site": (request("POST", "/api/v1/play/erase", f"Origin: http://evil.example\r\n{JSON}", "{}"), 403),
    "playing with GET": (request("GET", "/api/v1/play/answers"), 405),
    "the page of players with POST": (request("POST", "/play"), 405),
    "a bundle whose id is a path": (request("POST", "/api/v1/write/bundle", JSON, '{"dataset": "../x", "questions": [{}]}'), 400),
    "unsolved questions as a page": (request("GET", "/api/v1/unsolved.html"), 404),
    "steps of an unknown question": (request("GET", "/api/v1/clue-steps/pyramid/..%2f..%2fCURRENT"), 404),
    "steps of a dataset that is a path": (request("GET", "/api/v1/clue-steps/..%2f..%2fetc/passwd"), 404),
    "a table of teams that there is not": (request("GET", "/api/v1/teams.csv?dataset=pyramid&table=x;drop"), 400),
    "tags of an unknown run": (request("PUT", "/api/v1/runs/none/tags/a", JSON, '{"value": 1}'), (400, 401, 404)),
    "a signature that is none": (request("GET", "/questions?dataset=pyramid&signed=!!!"), 200),
    "a signature of another shape": (request("GET", "/_rows?dataset=pyramid&signed=W10.x&start=0&count=1"), 200),
    "rows from nowhere": (request("GET", "/_rows?dataset=pyramid&start=x&count=1"), 400),
    "rows before the first": (request("GET", "/_rows?dataset=pyramid&start=-5&count=-5"), 200),
    "rows without end": (request("GET", f"/_rows?dataset=pyramid&start={10**30}&count={10**30}"), (200, 400)),
    "rows of an older revision": (request("GET", "/_rows?dataset=pyramid&start=0&count=1&revision=..%2f..%2fCURRENT"), (200, 400)),
    "rows in no order": (request("GET", "/_rows?dataset=pyramid&start=0&count=1&sort=wrong:none&own=%00"), 400),
    "a view to cite elsewhere": (request("GET", "/api/v1/cite?view=http%3A%2F%2Fevil.example%2F"), (400, 404)),
}  # fmt: skip


def answer(network, data):
    """Return status and body of the answer to raw bytes."""
    port = int(network.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(data.encode("latin-1"))
        received = b""
        while part := connection.recv(65_536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("name", REQUESTS)
def test_a_forged_request_gets_its_status(network, name):
    data, expected = REQUESTS[name]
    status, body = answer(network, data)
    assert status in (expected if isinstance(expected, tuple) else (expected,)), body[:300]
    assert not re.search(rb"Traceback|site-packages|\.py\b", body)
    log = network.log.read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in log, log[-2000:]


def test_a_request_of_a_page_is_answered(network):
    status, body = answer(network, callback(DRAWN))
    assert status == 200 and b"fragments" in body


def test_braces_in_a_query_are_not_a_template(network):
    plain, braces = (answer(network, request("GET", path))[1] for path in ("/?colour=red", "/?x={%scripts%}"))
    assert braces.count(b"<script") == plain.count(b"<script")
