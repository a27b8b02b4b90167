"""How a worker of gunicorn receives requests, so that slow clients hold no thread.

What a connection has sent waits here until its request is complete. The worker's main thread receives it, and gunicorn's parser
then reads it, in a thread, as it would read the socket. An upload can be large, so its body stays on the socket, and is read by a
thread for uploads. Health checks have threads of their own. ``tests/soak/test_crowds.py`` measures it.
"""

from __future__ import annotations

import re
import selectors
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.errors import LimitRequestHeaders, ParseException
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

UPLOADS = ("/api/v1/runs", "/api/v1/datasets")  # a POST to these is an upload
MAX_HEAD = 65_536  # bytes of a request line and headers
MAX_BODY = 8 * 2**20  # bytes of a body as it is sent, for every request except an upload
MAX_LINE = 8190  # bytes of a line with the size of a chunk, and of the trailers after the last chunk
HEADER_TIMEOUT = 10.0  # seconds from the first bytes of a request to the end of its headers
BODY_TIMEOUT = 30.0  # seconds from there to the end of a body, for every request except an upload
CHUNK = 65_536  # bytes received at once
CHUNK_TIMEOUT = 60.0  # seconds in which so many bytes of an upload must arrive
HEX = re.compile(rb"[0-9A-Fa-f]+")


class BodyRefused(Exception):
    """The body of a request is not accepted. Reading the body raises this.

    ``status`` is an HTTP status, and ``code`` what is wrong, as JSON addresses call it.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


TOO_LARGE = (413, "too_large", f"The body is larger than {MAX_BODY // 2**20} MiB, the limit for all but uploads.")
TOO_SLOW = (408, "too_slow", f"The body did not arrive within {BODY_TIMEOUT:g} seconds; send it again.")
STALLED = (408, "too_slow", f"Fewer than {CHUNK:,} bytes arrived within {CHUNK_TIMEOUT:g} seconds.")
BROKEN_OFF = (400, "broken_off", "The body ended before it was complete; send it again.")


class IncomingRequests:
    """The requests of one connection, one after the other.

    ``received`` is what the parser has not read yet. The client must send the next part of its request by ``deadline``, a time of
    ``time.monotonic``.
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
        self._due = 0  # bytes of an upload that must arrive by the deadline
        self._end: Exception | None = None  # what reading beyond ``received`` raises; None: the connection seems closed
        self._arrival: Iterator[bool] = iter(())

    def begin(self) -> bool:
        """Begin to wait for a request. Return whether it has been received already, together with the previous one."""
        self.received[:0] = self.parser.unreader.take_buffered()
        self.deadline = time.monotonic() + HEADER_TIMEOUT
        self.is_upload = False
        self._end = None
        self._due = 0
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
        return self._receive_upload(size) if self.is_upload else b""

    def _receive_upload(self, size: int) -> bytes:
        now = time.monotonic()
        if self._due <= 0:
            self._due, self.deadline = CHUNK, now + CHUNK_TIMEOUT
        self._sock.settimeout(max(0.001, self.deadline - now))  # what is there already is received in any case
        try:
            data = self._sock.recv(size)
        except TimeoutError:
            raise BodyRefused(*STALLED) from None
        finally:
            self._sock.settimeout(None)
        self._due -= len(data)
        return data

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
        self._end = BodyRefused(*BROKEN_OFF)
        try:
            if "TRANSFER-ENCODING" in fields:
                yield from _wait_for_chunks(self.received, self._head)
            elif length > MAX_BODY:
                raise BodyRefused(*TOO_LARGE)
            while len(self.received) < self._head + length:
                yield False
        except BodyRefused as reason:
            self.refuse(reason)


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
            raise BodyRefused(*TOO_LARGE)
        while size > 0 and len(received) < begin:
            yield False
        if size > 0 and received[begin - 2 : begin] != b"\r\n":
            return
    while received.find(b"\r\n\r\n", end) < 0 and len(received) < end + MAX_LINE:
        yield False


CLOSE_TIMEOUT = 2.0  # seconds that a client has to close its end after we have closed ours
MAX_DRAINED = MAX_BODY  # bytes that the client may still send in that time, so that it can read why its body is refused
READ_TIMEOUT = 30  # seconds in which a client must read some of its response
MAX_SMALL = 65_536  # bytes of a request that are always received
MAX_RECEIVED = 128 * 2**20  # bytes of all requests that wait in a worker, beyond which only small ones are received
PROBES = (b"GET /healthz", b"GET /readyz", b"HEAD /healthz", b"HEAD /readyz")
PROBE_THREADS = 2  # reserved for probes, so that these are answered however busy the worker is
UPLOAD_THREADS = 10  # reserved for uploads: dashboard.service.MAX_UPLOADS, and two that refuse those beyond


class Worker(ThreadWorker):
    """A worker that gives a connection a thread only when a request has arrived.

    The standard worker gives each new connection a thread for five seconds, and waits for headers, bodies and slow readers
    without a limit. Its main thread, which accepts connections, waits up to two seconds for each client to close its end.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._probe_threads = ThreadPoolExecutor(PROBE_THREADS, "probe")
        self._upload_threads = ThreadPoolExecutor(UPLOAD_THREADS, "upload")
        self._listen_until: float | None = None  # set when the worker is told to shut down
        self._arriving: set[Any] = set()  # connections whose request has not arrived yet
        self._unanswered: set[Any] = set()  # these, and those whose request waits for a thread or has one
        self._closing: dict[Any, tuple[float, int]] = {}  # connections closed on our side: deadline, bytes they may still send

    def enqueue_req(self, conn: Any) -> None:
        """Wait for a request of a connection. Called in the main thread."""
        if not (conn.initialized or conn.data_ready):
            self._wait_for_first_byte(conn)
            return
        self._unanswered.add(conn)
        if conn.incoming.begin() or conn.incoming.receive():
            self._give_thread(conn)
        else:
            self._arriving.add(conn)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._receive, conn))

    def _wait_for_first_byte(self, conn: Any) -> None:
        with suppress(OSError, AttributeError):  # not a TCP socket, or a system without this option
            conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, READ_TIMEOUT * 1000)
        conn.incoming = IncomingRequests(self.cfg, conn.sock, conn.client)
        conn.parser = conn.incoming.parser
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def _receive(self, conn: Any, client: socket.socket) -> None:
        if conn.incoming.receive():
            self._stop_receiving(conn)
        elif len(conn.incoming.received) > MAX_SMALL and sum(len(c.incoming.received) for c in self._unanswered) > MAX_RECEIVED:
            self._stop_receiving(conn, BodyRefused(503, "busy", "Too many large requests are arriving; try again in a moment."))

    def _stop_receiving(self, conn: Any, refusal: BodyRefused | None = None) -> None:
        self._arriving.discard(conn)
        self.poller.unregister(conn.sock)
        if refusal is not None:
            conn.incoming.refuse(refusal)
        self._give_thread(conn)

    def _give_thread(self, conn: Any) -> None:
        if conn.incoming.received.startswith(PROBES):
            threads = self._probe_threads
        else:
            threads = self._upload_threads if conn.incoming.is_upload else self.tpool
        future = threads.submit(self.handle, conn)
        future.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request. Called in a thread."""
        try:
            return super().handle_request(req, conn)
        except TimeoutError:
            self.log.info("%s did not read the response to %s", conn.client, req.path)
            return False
        finally:
            conn.incoming.end()

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep a connection for its next request, or close it. Called in the main thread."""
        self._unanswered.discard(conn)
        if fs.cancelled() or fs.exception() is not None:
            super().finish_request(conn, fs)
            return
        if fs.result():
            if conn.incoming.received:  # the next request came together with this one
                self.enqueue_req(conn)
            else:
                super().finish_request(conn, fs)
            return
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._drain, conn))
        except (OSError, ValueError):  # the client has gone
            self.nr_conns -= 1
            conn.close()
            return
        # Closing a socket with unread input would discard the end of the response (RFC 9112, section 9.6).
        self._closing[conn] = (time.monotonic() + CLOSE_TIMEOUT, MAX_DRAINED)

    def _drain(self, conn: Any, client: socket.socket) -> None:
        deadline, bytes_left = self._closing[conn]
        try:
            bytes_left -= len(client.recv(CHUNK)) or bytes_left
        except BlockingIOError:
            return
        except OSError:
            bytes_left = 0
        if bytes_left > 0:
            self._closing[conn] = (deadline, bytes_left)
        else:
            self._close(conn)

    def _close(self, conn: Any) -> None:
        del self._closing[conn]
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to drain: probes fail at once; new requests are accepted for as long as the settings say, and then finished."""
        if self.alive and self._listen_until is None:
            self._listen_until = time.monotonic() + self.app.begin_draining()
            self.method_queue.defer(self._stop_listening)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """End at once. The standard worker first takes a lock that the main thread, which the signal interrupts, may hold."""
        super(ThreadWorker, self).handle_quit(sig, frame)

    def _stop_listening(self) -> None:
        if self.alive and self._listen_until is not None and time.monotonic() >= self._listen_until:
            super().handle_exit(signal.SIGTERM, None)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Start or stop accepting connections. Called in the main thread."""
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                listener.close()  # otherwise clients would connect, and wait for a response until this process ends
            for conn in self.pending_conns:
                conn.timeout = min(conn.timeout, time.monotonic() + STOP_KEEPALIVE_LINGER)

    def murder_pending(self) -> None:
        """Close connections past their deadlines. Called in the main thread, about once a second."""
        super().murder_pending()
        self._stop_listening()
        for conn, (deadline, _) in list(self._closing.items()):
            if time.monotonic() <= deadline:
                break  # the dict is in the order of deadlines
            self._close(conn)
        now = time.monotonic()
        for conn in [conn for conn in self._arriving if conn.incoming.deadline < now]:
            self._stop_receiving(conn, BodyRefused(*TOO_SLOW))
