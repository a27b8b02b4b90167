"""gunicorn's worker of threads, for clients that say nothing or little: they must not hold the threads that answer the others."""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

PATIENCE = 10.0  # seconds from the first byte of a request to the end of its headers
FAREWELL = 2.0  # seconds that a client has to close its end of a connection that we have closed
DRAINED = 65_536  # bytes that it may still send meanwhile
STALLED = 30  # seconds in which a client that is being answered must read something


class Worker(ThreadWorker):
    """A connection takes a thread once it says something, and loses it if the headers do not follow soon.

    gunicorn's own gives each new connection a thread for five seconds, so that a thousand silent ones hold all others up for
    minutes; it waits for headers without end, and for readers who do not read; and its main thread, which must accept everybody
    else, waits up to two seconds for each client that was told the connection is closed and keeps its end open.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heading: dict[Any, float] = {}  # connections that send headers, and until when they may
        self._leaving: dict[Any, tuple[float, int]] = {}  # connections closed on our side, until when, and bytes to come at most

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection a thread or, if it is new, wait for it with the others. Called by the main thread."""
        if conn.initialized or conn.data_ready or not self.alive:
            super().enqueue_req(conn)
            return
        with suppress(OSError, AttributeError):  # a socket of another kind than TCP, or a system without this option
            conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED * 1000)
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def handle(self, conn: Any) -> Any:
        """Handle a request on a connection, in a thread."""
        self._heading[conn] = time.monotonic() + PATIENCE
        try:
            return super().handle(conn)
        finally:
            self._heading.pop(conn, None)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Handle a request whose headers are there; its body has limits of its own."""
        self._heading.pop(conn, None)
        try:
            return super().handle_request(req, conn)
        except TimeoutError:
            self.log.info("%s did not read the answer to %s", conn.client, req.path)
            return False

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep a connection for its next request, or let it go. Called by the main thread."""
        if fs.cancelled() or fs.exception() is not None or fs.result():
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
        # A socket that is closed with something unread in it takes the end of the answer with it (RFC 9112, 9.6).
        self._leaving[conn] = (time.monotonic() + FAREWELL, DRAINED)

    def _drain(self, conn: Any, client: socket.socket) -> None:
        until, left = self._leaving[conn]
        try:
            left -= len(client.recv(DRAINED)) or left
        except BlockingIOError:
            return
        except OSError:
            left = 0
        if left > 0:
            self._leaving[conn] = (until, left)
        else:
            self._close(conn)

    def _close(self, conn: Any) -> None:
        del self._leaving[conn]
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Close what has waited too long. Called by the main thread, about once a second."""
        super().murder_pending()
        for conn, (until, _) in list(self._leaving.items()):
            if time.monotonic() <= until:
                break  # they stand in the order of time
            self._close(conn)
        for conn, until in list(self._heading.items()):
            if time.monotonic() > until:
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RD)  # its thread then finds that there is no more
