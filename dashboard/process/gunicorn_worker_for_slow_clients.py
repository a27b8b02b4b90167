"""gunicorn's threaded worker, with limits on clients that send nothing, send slowly or do not read, and threads of their own for
health checks and uploads.

Measured with gunicorn 27.0.1 on two cores, two workers, by tests/soak/test_crowds.py:

| | this worker, 8 threads (now 32, of which 4 compute) | gthread, 8 threads | gthread, 256 threads |
|---|---|---|---|
| a response while 1,000 connections send nothing | 0.05 s | more than 20 s | 5.0 s |
| 1,000 connections with a request each | 0.3 s | 0.4 s | not measured |
| others wait for clients that do not read their response | 30 s | more than 300 s | not measured |
| memory while 300 new leaderboards are computed | 640 MB | not measured | 1,108 MB |
| the slowest /healthz during this | 39 s, before probes had their own threads | not measured | 10 s |
| a response while 1,000 connections have unfinished headers | 0.05 s | not measured | none in 90 s |

So the standard worker meets the target for silent connections only with a number of threads that makes memory grow by three
quarters. It sets no limit on a client that does not read, and unfinished headers and bodies block its threads. (When this worker
read bodies in these threads, 80 bodies of a byte a second held all 64 threads of two workers, and a page took 60 s.) The price of
this class is that it overrides undocumented methods of gunicorn's ``ThreadWorker``. That is why pyproject.toml pins gunicorn's
exact version. After an upgrade, run ``make soak``.
"""

from __future__ import annotations

import selectors
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from dashboard.process.incoming_requests import CHUNK, MAX_BODY, BodyRefused, IncomingRequests, too_slow

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
            self._stop_receiving(conn, too_slow())
