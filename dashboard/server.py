"""The service under gunicorn: ``python -m dashboard.server``, which ``python -m dashboard serve`` turns into.

Nothing here may import DuckDB or polars before the workers are forked: neither survives a fork.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from dashboard.settings import Settings, read_settings

FILES = 4096  # that a process may have open


class Server(BaseApplication):
    """gunicorn with the settings of this product; each worker makes its own app, so that DuckDB is opened after the fork."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.app: Flask | None = None  # of the worker
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's options."""
        options: dict[str, Any] = {
            "bind": f"{self.settings.host}:{self.settings.port}",
            "workers": self.settings.workers,
            "worker_class": "dashboard.gunicorn_worker.Worker",
            "threads": 8,
            "timeout": 120,
            "limit_request_line": 8190,  # bytes, the most that gunicorn allows: a selection may name many runs
            "limit_request_fields": 64,
            "limit_request_field_size": 8190,
            "keepalive": 30,
            "graceful_timeout": 20,
            "loglevel": self.settings.log_level,
            "worker_tmp_dir": "/dev/shm" if sys.platform == "linux" else None,  # heartbeats must not wait for a disk
            "when_ready": self._say_where,
            "post_worker_init": self._leave_ctrl_c_to_the_first_process,
            "worker_exit": self._close,
        }
        for name, value in options.items():
            self.cfg.set(name, value)
        if "control_socket_disable" in self.cfg.settings:
            self.cfg.set("control_socket_disable", True)  # it would leave a socket in the working folder

    def load(self) -> Any:
        """The app of one worker."""
        from dashboard.app import create_app

        self.app = create_app(self.settings)
        return self.app

    def _leave_ctrl_c_to_the_first_process(self, worker: object) -> None:
        # Ctrl-C reaches every process of the terminal's group. A worker that took it too would be told to end twice,
        # and gunicorn's handler, entered again while it shuts its threads down, waits for a lock that it holds itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _close(self, server: object, worker: object) -> None:
        if self.app is not None:
            from dashboard.service import EXTENSION

            self.app.extensions[EXTENSION].store.close()

    def _say_where(self, server: object) -> None:
        print(f"Clueline is at {address(self.settings)}  (Ctrl-C ends it)", flush=True)


def address(settings: Settings) -> str:
    """The address to type into a browser."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{settings.port}"


def allow_connections() -> None:
    """Let a process hold as many connections as gunicorn accepts: without a file for one, a worker would end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def share_processors(workers: int) -> None:
    """Let numpy's products use a worker's share of the processors: more threads than that wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


if __name__ == "__main__":
    allow_connections()
    settings = read_settings()
    share_processors(settings.workers)
    Server(settings).run()
