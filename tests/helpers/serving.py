"""Starts the product as a user does: command line, server, browser. Used by tests and ``scripts/take-pictures``."""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

from click.testing import CliRunner
from werkzeug.serving import make_server

from tests.helpers.paths import PACKAGE, ROOT

PORTS = map(lambda number: 11_000 + (199 * os.getpid() + number) % 20_000, itertools.count())
STARTED = 300  # seconds that a server can take to get ready


def environment(**settings):
    """Return the environment of a process of ours: with these settings, without those of the person who runs the tests.

    It runs the code of this checkout, whatever is installed.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLUELINE_")}
    kept["PYTHONPATH"] = str(PACKAGE)
    return kept | {f"CLUELINE_{name.upper()}": str(value) for name, value in settings.items()}


def run_cli(*arguments, **settings):
    """Run ``clueline ARGUMENTS`` in its own process."""
    command = [sys.executable, "-m", "clueline", *map(str, arguments)]
    return subprocess.run(
        command, check=False, cwd=ROOT, env=environment(**settings), capture_output=True, text=True, timeout=300
    )


def call_cli(*arguments, **settings):
    """Run ``clueline ARGUMENTS`` in this process, which saves imports. An unexpected error is raised."""
    from clueline.dashboard.cli import main

    unset = {name: None for name in os.environ if name.startswith("CLUELINE_")}
    chosen = {name: value for name, value in environment(**settings).items() if name.startswith("CLUELINE_")}
    result = CliRunner().invoke(main, [*map(str, arguments)], env=unset | chosen, prog_name="clueline", catch_exceptions=False)
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)


def free_port():
    """Return a free port that nobody else takes before it is used.

    It is below the ports that the system gives to connections (32768 and above). Each process starts its search at another port.
    """
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", next(PORTS)))
            return probe.getsockname()[1]


@contextlib.contextmanager
def serving(app):
    """Serve an app from threads of this process, where nothing depends on its workers. Yields its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def start_server(store, log, workers=2, as_options=False, port=None, code=ROOT, **settings):
    """Serve a store, with the port as a setting or as an option. ``stop`` ends the server's process group.

    ``code`` is a folder with Clueline, which can be another version.
    """
    port = port or free_port()
    settings = {"log_level": "warning"} | ({} if as_options else {"port": port}) | settings
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "clueline", "serve", *(["--port", str(port)] if as_options else [])],
            cwd=code,
            env=environment(store=store, workers=workers, **settings) | {"PYTHONPATH": str(code / PACKAGE.relative_to(ROOT))},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def stop():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    served = SimpleNamespace(address=f"http://127.0.0.1:{port}", store=store, log=log, process=process, stop=stop)
    until = time.monotonic() + STARTED
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{served.address}/readyz", timeout=30):
                return served
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    stop()
    raise RuntimeError(f"the server did not become ready:\n{log.read_text(errors='replace')}")


FLAGS = [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def chromium():
    """Return the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM_PATH")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)
