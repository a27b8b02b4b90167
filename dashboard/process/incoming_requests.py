"""Receives requests without a thread: what a connection has sent waits here until its request is complete.

The worker's main thread receives it, and gunicorn's parser then reads it, in a thread, as it would read the socket. An upload can
be large, so its body stays on the socket, and is read by a thread for uploads.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.errors import LimitRequestHeaders, ParseException

UPLOADS = ("/api/v1/runs", "/api/v1/datasets")  # a POST to these is an upload
MAX_HEAD = 65_536  # bytes of a request line and headers
MAX_BODY = 8 * 2**20  # bytes of a body as it is sent, for every request except an upload
MAX_LINE = 8190  # bytes of a line with the size of a chunk, and of the trailers after the last chunk
HEADER_TIMEOUT = 10.0  # seconds from the first bytes of a request to the end of its headers
BODY_TIMEOUT = 30.0  # seconds from there to the end of a body, for every request except an upload
CHUNK = 65_536  # bytes received at once
HEX = re.compile(rb"[0-9A-Fa-f]+")


class BodyRefused(Exception):
    """The body of a request is not accepted. Reading the body raises this.

    Attributes:
        status: HTTP status.
        code: what is wrong, as JSON addresses call it.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def too_large() -> BodyRefused:
    """Return the error for a body beyond ``MAX_BODY``."""
    return BodyRefused(413, "too_large", f"The body is larger than {MAX_BODY // 2**20} MiB, the limit for all but uploads.")


def too_slow() -> BodyRefused:
    """Return the error for a body that took longer than ``BODY_TIMEOUT``."""
    return BodyRefused(408, "too_slow", f"The body did not arrive within {BODY_TIMEOUT:g} seconds; send it again.")


def broken_off() -> BodyRefused:
    """Return the error for a body that the client did not send to its end."""
    return BodyRefused(400, "broken_off", "The body ended before it was complete; send it again.")


class IncomingRequests:
    """The requests of one connection, one after the other.

    Attributes:
        received: what was received, and not read by the parser yet.
        deadline: time of ``time.monotonic`` until which the client must send the next part of its request.
        is_upload: whether the request is an upload.
    """

    def __init__(self, cfg: Any, sock: socket.socket, client: Any) -> None:
        self.received = bytearray()
        self.deadline = 0.0
        self.is_upload = False
        self.parser = get_parser(cfg, self, client)
        self._cfg = cfg
        self._sock = sock
        self._client = client
        self._head = 0  # bytes of the headers of this request
        self._end: Exception | None = None  # what reading beyond ``received`` raises; None: the connection seems closed
        self._arrival: Iterator[bool] = iter(())

    def begin(self) -> bool:
        """Begin to wait for a request. Return whether it has been received already, together with the previous one."""
        self.received[:0] = self.parser.unreader.take_buffered()
        self.deadline = time.monotonic() + HEADER_TIMEOUT
        self.is_upload = False
        self._end = None
        self._arrival = self._wait()
        return next(self._arrival, True)

    def receive(self) -> bool:
        """Receive what has been sent. Return whether the parser can read the request, or the client has left."""
        try:
            data = self._sock.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self.received += data
        return not data or next(self._arrival, True)

    def refuse(self, reason: BodyRefused) -> None:
        """Wait no longer. Reading the body raises the reason. If headers are missing, the connection seems closed."""
        if self._end is not None:
            del self.received[self._head :]
            self._end = reason

    def end(self) -> None:
        """Wait for no more of this request, now that it is answered. If a part of its body is missing, the connection ends."""
        self._end = TimeoutError()

    def recv(self, size: int) -> bytes:
        """Return bytes for the parser, at most ``size``; none if the client has left."""
        if self.received:
            data = bytes(self.received[:size])
            del self.received[:size]
            return data
        if self._end is not None:
            raise self._end
        return self._sock.recv(size) if self.is_upload else b""

    def _wait(self) -> Iterator[bool]:
        """Yield False for as long as the request is incomplete."""
        searched = 0
        while (end := self.received.find(b"\r\n\r\n", max(0, searched - 3))) < 0:
            if len(self.received) > MAX_HEAD:
                self._end = LimitRequestHeaders(f"more than {MAX_HEAD:,} bytes")
                return
            searched = len(self.received)
            yield False
        head = bytes(self.received[: end + 4])
        if not re.search(rb"content-length|transfer-encoding", head, re.IGNORECASE):
            return
        try:
            request = next(get_parser(self._cfg, [head], self._client))
        except (ParseException, StopIteration, OSError):
            return  # the parser of the connection finds the same, and answers
        if request.method == "POST" and request.path in UPLOADS:
            self.is_upload = True
            return
        fields = dict(request.headers)
        length = int(fields.get("CONTENT-LENGTH", 0))
        if "EXPECT" in fields and request.version >= (1, 1) and len(self.received) == len(head) and length <= MAX_BODY:
            with suppress(OSError):
                self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n", socket.MSG_DONTWAIT)
            head = re.sub(rb"\r\nexpect:[^\r\n]*", b"", head, flags=re.IGNORECASE)  # otherwise gunicorn would send it again
            self.received[:] = head
        self.deadline = time.monotonic() + BODY_TIMEOUT
        self._head = len(head)
        self._end = broken_off()
        try:
            if "TRANSFER-ENCODING" in fields:
                yield from _wait_for_chunks(self.received, self._head)
            else:
                yield from _wait_for_length(self.received, self._head, length)
        except BodyRefused as reason:
            self.refuse(reason)


def _wait_for_length(received: bytearray, begin: int, length: int) -> Iterator[bool]:
    """Yield False until a body of a stated length is received. Raises ``BodyRefused``."""
    if length > MAX_BODY:
        raise too_large()
    while len(received) < begin + length:
        yield False


def _wait_for_chunks(received: bytearray, begin: int) -> Iterator[bool]:
    """Yield False until the last chunk and the trailers are received, or what the parser refuses. Raises ``BodyRefused``."""
    size, largest = -1, begin + MAX_BODY
    while size != 0:
        while (end := received.find(b"\r\n", begin)) < 0:
            if len(received) > begin + MAX_LINE:
                return
            yield False
        digits = received[begin:end].partition(b";")[0].rstrip(b" \t")
        if not HEX.fullmatch(digits):
            return
        size = int(digits, 16)
        begin = end + 2 + size + 2
        if begin > largest:
            raise too_large()
        while size > 0 and len(received) < begin:
            yield False
        if size > 0 and received[begin - 2 : begin] != b"\r\n":
            return
    while received.find(b"\r\n\r\n", end) < 0 and len(received) < end + MAX_LINE:
        yield False
