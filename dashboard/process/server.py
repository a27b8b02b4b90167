"""Runs the app under gunicorn: ``python -m clueline.dashboard.process.server``, which ``clueline serve`` becomes.

Nothing here may import DuckDB or polars before the workers are forked, because neither survives a fork.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from clueline.dashboard.http import logs
from clueline.dashboard.settings import Settings, read_settings
from clueline.dashboard.uploads.end_with_parent import end_with

THREADS = 128  # per worker; dashboard/cache.py keeps some of them free from computing
LINK = "OPENED_WHEN_READY"  # environment variable with what to open in a browser
MAX_FILES = 4096  # open files per process
SHARED_MEMORY = "/dev/shm" if sys.platform == "linux" else None  # a folder in memory, writable in a container


class ServerLog(Logger):
    """gunicorn's log, in the format of our own lines."""

    def setup(self, cfg: Any) -> None:
        """Let the root logger's handler write the lines."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class Server(BaseApplication):
    """gunicorn with our settings. Each worker creates its own app, so DuckDB is opened after the fork."""

    def __init__(self, settings: Settings, link: str = "") -> None:
        self.settings = settings
        self.link = link  # what to open in a browser as soon as the server is ready
        self.app: Flask | None = None  # the app of this worker; None in the first process
        self.terminating = False  # whether the first process was told to terminate
        self.figures = ""  # the folder where workers store metrics for Prometheus
        if settings.prometheus == "on":
            self.figures = tempfile.mkdtemp(prefix="clueline-figures-", dir=SHARED_MEMORY)
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = self.figures
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's options."""
        options: dict[str, Any] = {
            "bind": f"{self.settings.host}:{self.settings.port}",
            "workers": self.settings.workers,
            "worker_class": "clueline.dashboard.http.slow_clients.Worker",
            "threads": THREADS,
            "timeout": 120,
            "limit_request_line": 8190,  # bytes, gunicorn's maximum, because an address can name many runs
            "limit_request_fields": 64,
            "limit_request_field_size": 8190,
            "forwarded_allow_ips": "",  # decided by dashboard/access/trusted_proxies.py instead
            "keepalive": 30,
            "graceful_timeout": self.settings.drain_notice_seconds + self.settings.drain_seconds,
            "loglevel": self.settings.log_level,
            "logger_class": ServerLog,
            "worker_tmp_dir": SHARED_MEMORY,  # heartbeats do not wait for a disk
            "when_ready": self._ready,
            "post_fork": self._end_with_server,
            "post_worker_init": self._ignore_ctrl_c,
            "worker_exit": self._close,
            "child_exit": self._forget_worker,
            "on_exit": self._remove_folder,
        }
        for name, value in options.items():
            self.cfg.set(name, value)
        if "control_socket_disable" in self.cfg.settings:
            self.cfg.set("control_socket_disable", True)  # the socket would be left in the working folder

    def load(self) -> Any:
        """Create the app of one worker."""
        from clueline.dashboard.app import create_app

        self.app = create_app(self.settings)
        if self.settings.watch:
            from clueline.dashboard.uploads.watching import keep_watching

            keep_watching(self._service(self.app).store, self.settings.watch)
        return self.app

    def begin_draining(self) -> float:
        """Make ``/readyz`` of this worker fail from now on.

        Returns the seconds for which the worker still accepts requests, so that a load balancer can notice.
        """
        if self.app is not None:
            self._service(self.app).draining = True
        return self.settings.drain_notice_seconds

    def _service(self, app: Flask) -> Any:
        from clueline.dashboard.service import EXTENSION

        return app.extensions[EXTENSION]

    def _end_with_server(self, server: object, worker: Any) -> None:
        end_with(worker.ppid)

    def _ignore_ctrl_c(self, worker: object) -> None:
        # Ctrl-C reaches every process of the terminal's group, and the first process then ends its workers. A worker that gets
        # both signals would enter gunicorn's handler a second time while in it, and wait for a lock that it holds itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _close(self, server: object, worker: object) -> None:
        if self.app is not None:
            self._service(self.app).store.close()

    def _forget_worker(self, server: object, worker: Any) -> None:
        if self.figures:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(worker.pid)

    def _remove_folder(self, server: object) -> None:
        if self.figures:
            shutil.rmtree(self.figures, ignore_errors=True)

    def _ready(self, arbiter: Any) -> None:
        def terminate(sig: int, frame: object) -> None:
            # On a second signal, gunicorn ends its workers without waiting for their requests.
            arbiter.signal(signal.SIGQUIT if self.terminating else signal.SIGTERM, frame)
            self.terminating = True

        signal.signal(signal.SIGTERM, terminate)
        if self.settings.log_format == "json":
            arbiter.log.info("Clueline is at %s", address(self.settings))
        else:
            print(f"Clueline is at {address(self.settings)}  (press Ctrl-C to stop)", flush=True)
        if self.link:
            command = [sys.executable, "-m", "webbrowser", self.link]
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def address(settings: Settings) -> str:
    """Return the address to type into a browser.

    >>> address(Settings(host="0.0.0.0", port=8051))
    'http://127.0.0.1:8051'
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{settings.port}"


def raise_file_limit() -> None:
    """Raise the limit on open files. A worker that cannot open a file for an accepted connection would end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def limit_numpy_threads(workers: int) -> None:
    """Limit numpy's matrix products to a worker's share of the CPUs. More threads would wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


if __name__ == "__main__":
    raise_file_limit()
    settings = read_settings()
    logs.configure(settings)
    limit_numpy_threads(settings.workers)
    Server(settings, os.environ.pop(LINK, "")).run()
