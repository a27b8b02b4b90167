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


class Worker(ThreadWorker):
    """A connection takes a thread once it says something, and loses it if the headers do not follow soon.

    gunicorn's own gives each new connection a thread for five seconds, so that a thousand silent ones hold all others up for
    minutes, and waits for headers without end.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heading: dict[Any, float] = {}  # connections that send headers, and until when they may

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection a thread or, if it is new, wait for it with the others. Called by the main thread."""
        if conn.initialized or conn.data_ready or not self.alive:
            super().enqueue_req(conn)
            return
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
        return super().handle_request(req, conn)

    def murder_pending(self) -> None:
        """Close what has waited too long. Called by the main thread, about once a second."""
        super().murder_pending()
        for conn, until in list(self._heading.items()):
            if time.monotonic() > until:
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RD)  # its thread then finds that there is no more
