"""Requests reach gunicorn's parser as they were sent, however they arrive, and only when they have arrived."""

import os
import re
import signal
import socket
import subprocess
import sys
from itertools import pairwise
from unittest.mock import Mock

import pytest
from gunicorn.config import Config
from gunicorn.http import get_parser
from gunicorn.http.errors import LimitRequestHeaders, ParseException
from hypothesis import given
from hypothesis import strategies as st

from clueline.dashboard.access.limits import MAX_BODY
from clueline.dashboard.http import slow_clients
from clueline.dashboard.http.slow_clients import (
    BROKEN_OFF,
    CHUNK,
    MAX_HEAD,
    MAX_LINE,
    TOO_SLOW,
    UPLOADS,
    BodyRefused,
    IncomingRequests,
    Worker,
)
from tests.helpers.examples import examples

CLIENT = ("127.0.0.1", 1)
GET = b"GET /runs?a=b HTTP/1.1\r\nHost: a\r\n\r\n"
PLAIN = b"POST /login HTTP/1.1\r\nHost: a\r\ncontent-length:  11\r\n\r\ntoken=\r\n\r\nx"
EMPTY = b"POST /login HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
CHUNKED = (
    b'POST /api/v1/play HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n5;a=b;c="d e"\r\n\r\n0\r\n\r\n'
    b"00a \t;x\r\n0123456789\r\n0;last\r\nSum: 1\r\nX: 2\r\n\r\n"
)
NO_CHUNK = b"PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"
REQUESTS = {"get": GET, "plain": PLAIN, "empty": EMPTY, "chunked": CHUNKED, "empty line": b"\r\n" + PLAIN, "no chunk": NO_CHUNK}
REFUSED = {
    "both lengths": b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n",
    "a length below 0": b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    "a length in other digits": "POST / HTTP/1.1\r\nContent-Length: ²\r\n\r\n".encode("latin-1"),
    "chunks of chunks": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "no chunks": b"POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n",
    "chunks of HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a bad name": b"POST / HTTP/1.1\r\nContent-Length : 5\r\n\r\n",
}
BAD_CHUNKS = (
    b"Z\r\n", b"-5\r\n", b"0x5\r\n", b"1_0\r\n", b" 5\r\n", b"\r\n", b"1\r\nab\r\n", b"0\r\nHost: b\r\n\r\n", b"5" * 2 * MAX_LINE,
)  # fmt: skip


@pytest.fixture
def ends():
    """Both ends of a connection: the client's, and the requests that arrive on the server's."""
    client, server = socket.socketpair()
    server.setblocking(False)
    client.settimeout(10)
    yield client, IncomingRequests(Config(), server, CLIENT)
    client.close()
    server.close()


def described(request):
    return request.method, request.uri, request.headers, request.body.read(), request.trailers


def arrived(incoming, part, client):
    client.sendall(part)
    return incoming.receive()


@given(st.lists(st.sampled_from([*REQUESTS.values()]), min_size=1, max_size=4), st.lists(st.integers(0, 600), max_size=20))
@examples(200)
def test_requests_are_parsed_as_they_were_sent(requests, cuts):
    """They are cut anywhere, also within a line end, and a part can have the end of one and the beginning of the next."""
    sent = b"".join(requests)
    client, server = socket.socketpair()
    with client, server:
        incoming = IncomingRequests(Config(), server, CLIENT)
        read = []
        ready = incoming.begin()
        for begin, end in pairwise(sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})):
            client.sendall(sent[begin:end])
            ready = incoming.receive()
            while ready:
                read.append(described(next(incoming.parser)))
                incoming.end()
                ready = incoming.begin()
    whole = get_parser(Config(), [sent], CLIENT)
    assert read == [described(next(whole)) for _ in requests]


@pytest.mark.parametrize("name", [*REQUESTS])
def test_a_request_has_arrived_with_its_last_byte(ends, name):
    client, incoming = ends
    assert not incoming.begin()
    for index in range(len(REQUESTS[name])):
        last = index == len(REQUESTS[name]) - 1
        assert arrived(incoming, REQUESTS[name][index : index + 1], client) == last


@pytest.mark.parametrize("name", [*REFUSED])
def test_headers_that_are_refused_wait_for_no_body(ends, name):
    client, incoming = ends
    incoming.begin()
    assert arrived(incoming, REFUSED[name], client)
    with pytest.raises(ParseException):
        next(incoming.parser)


@pytest.mark.parametrize("chunk", BAD_CHUNKS)
def test_chunks_that_are_refused_wait_for_no_others(ends, chunk):
    client, incoming = ends
    incoming.begin()
    assert arrived(incoming, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, client)
    with pytest.raises((ParseException, BodyRefused)):
        next(incoming.parser).body.read()


@pytest.mark.parametrize("body", [b"Content-Length: 9\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc"])
def test_a_body_that_stops_has_a_reason(ends, body):
    client, incoming = ends
    incoming.begin()
    assert not arrived(incoming, b"POST / HTTP/1.1\r\n" + body, client)
    client.shutdown(socket.SHUT_WR)
    assert incoming.receive()
    body = next(incoming.parser).body
    with pytest.raises(BodyRefused, match=re.escape(BROKEN_OFF[2])):
        body.read()


def test_a_body_that_is_late_has_a_reason(ends):
    client, incoming = ends
    incoming.begin()
    headers_until = incoming.deadline
    assert not arrived(incoming, PLAIN[:-1], client)
    assert incoming.deadline > headers_until
    incoming.refuse(BodyRefused(*TOO_SLOW))
    body = next(incoming.parser).body
    with pytest.raises(BodyRefused, match="30 seconds"):
        body.read()


def test_headers_that_are_late_close_the_connection(ends):
    client, incoming = ends
    incoming.begin()
    assert not arrived(incoming, PLAIN[:30], client)
    incoming.refuse(BodyRefused(*TOO_SLOW))
    with pytest.raises(OSError, match="No more data"):
        next(incoming.parser)


def test_headers_that_are_too_long_are_refused(ends):
    client, incoming = ends
    incoming.begin()
    client.sendall(b"GET / HTTP/1.1\r\n" + b"X: %s\r\n" % (b"a" * 8000) * 10)
    while not incoming.receive():
        assert len(incoming.received) <= MAX_HEAD
    with pytest.raises(LimitRequestHeaders):
        next(incoming.parser)


def test_a_stated_length_beyond_the_limit_is_refused_at_once(ends):
    client, incoming = ends
    incoming.begin()
    assert arrived(incoming, b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1), client)
    body = next(incoming.parser).body
    with pytest.raises(BodyRefused, match="larger than 8 MiB"):
        body.read()


@pytest.mark.parametrize("chunk", [b"10000\r\n%s\r\n" % bytes(2**16), b"1;%s\r\na\r\n" % (b"a" * 8000), b"800000\r\n"])
def test_chunks_beyond_the_limit_are_not_received(ends, chunk):
    client, incoming = ends
    incoming.begin()
    ready = arrived(incoming, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", client)
    for _ in range(MAX_BODY // len(chunk) + 1):
        assert not ready
        ready = arrived(incoming, chunk, client)
        if ready:
            break
    assert ready and len(incoming.received) < MAX_HEAD
    body = next(incoming.parser).body
    with pytest.raises(BodyRefused, match="larger than 8 MiB"):
        body.read()


def test_a_client_that_waits_to_send_its_body_is_told_once(ends):
    client, incoming = ends
    incoming.begin()
    head, body = b"POST / HTTP/1.1\r\nHost: a\r\nEXPECT: 100-Continue\r\nContent-Length: 3\r\n\r\n", b"abc"
    assert not arrived(incoming, head, client)
    assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert arrived(incoming, body, client)
    request = next(incoming.parser)
    assert request.headers == [("HOST", "a"), ("CONTENT-LENGTH", "3")] and request.body.read() == body


@pytest.mark.parametrize("path", [*UPLOADS, UPLOADS[0] + "?dataset=a"])
@pytest.mark.parametrize("framing", ["Content-Length: 9999999999", "Transfer-Encoding: chunked"])
def test_an_upload_is_read_from_the_socket(ends, path, framing):
    client, incoming = ends
    incoming.begin()
    assert arrived(incoming, f"POST {path} HTTP/1.1\r\n{framing}\r\n\r\n".encode(), client)
    assert incoming.is_upload
    next(incoming.parser)
    client.sendall(b"abc")
    assert incoming.recv(10) == b"abc"
    incoming.end()
    with pytest.raises(TimeoutError):
        incoming.recv(10)


def test_an_upload_has_a_time_limit_for_each_part(ends, monkeypatch):
    client, incoming = ends
    incoming.begin()
    assert arrived(incoming, f"POST {UPLOADS[0]} HTTP/1.1\r\nContent-Length: 999999\r\n\r\n".encode(), client)
    upload = next(incoming.parser).body
    first = incoming.deadline
    for _ in range(2):  # a part that has arrived begins the time of the next one
        client.sendall(bytes(CHUNK))
        assert len(upload.read(CHUNK)) == CHUNK and first < incoming.deadline
        first = incoming.deadline
    client.sendall(b"abc")
    monkeypatch.setattr(slow_clients, "CHUNK_TIMEOUT", 0.1)
    with pytest.raises(BodyRefused, match="Fewer than 65,536 bytes arrived within 60 seconds"):
        upload.read(CHUNK)


@pytest.mark.parametrize("line", [f"GET {UPLOADS[0]}", f"POST {UPLOADS[0]}/", f"DELETE {UPLOADS[0]}", "POST /api/v1/%72uns"])
def test_other_requests_are_no_uploads(ends, line):
    client, incoming = ends
    incoming.begin()
    assert not arrived(incoming, f"{line} HTTP/1.1\r\nContent-Length: 9\r\n\r\n".encode(), client)
    assert not incoming.is_upload


def test_a_worker_told_to_quit_waits_for_no_lock():
    """The signal can interrupt its main thread while that gives a request to a thread, and so holds the lock of the threads."""
    worker = Worker(1, os.getppid(), [], None, 30, Config(), None)
    worker.tpool = Mock()
    with pytest.raises(SystemExit):
        worker.handle_quit(signal.SIGQUIT, None)
    assert worker.tpool.mock_calls == [] and not worker.alive


def test_the_server_is_imported_without_duckdb_and_polars():
    modules = "clueline.dashboard.process.server, clueline.dashboard.http.slow_clients"
    script = f"import sys, {modules}; print(sorted({{'duckdb', 'polars'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
