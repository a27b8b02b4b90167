"""``clueline serve``: starts the server."""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from contextlib import suppress
from typing import Any

import click
import msgspec

from clueline.dashboard.access.rights import is_loopback
from clueline.dashboard.cli.progress import CommandRefused, seed_empty_store
from clueline.dashboard.process.server import LINK, address
from clueline.dashboard.settings import Settings, environment_variable, read_setting
from clueline.data.importing.report import Refused
from clueline.data.store import OlderStore, Store, StoreError, open_store
from clueline.data.store.tokens_and_readers import MINUTES, TokenError, Tokens, new_code

PATIENCE = 2.0  # seconds to wait for the port to become free


def _read(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    """Return the value of a setting, checked in the same way as its environment variable."""
    try:
        return None if text is None else read_setting(str(parameter.name), text)
    except ValueError as expected:
        raise click.BadParameter(f"must be {expected}, not {text!r}") from expected


@click.command()
@click.option("--host", metavar="HOST", callback=_read, help="Address to listen on, instead of CLUELINE_HOST.")
@click.option("--port", metavar="PORT", callback=_read, help="Port to listen on, instead of CLUELINE_PORT.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser of this machine, if it has one.")
@click.pass_obj
def serve(settings: Settings, opens: bool, **overrides: Any) -> None:
    """Serve the dashboard and its JSON addresses. The bundled datasets are imported first if the store is empty, unless
    CLUELINE_SAMPLES=no.
    """
    chosen = {name: value for name, value in overrides.items() if value is not None}
    settings = msgspec.structs.replace(settings, **chosen)
    _check_port(settings)
    try:
        store = open_store(settings.store, threads=1)  # several would wait for each other at each of the samples' small files
        if settings.samples == "yes":
            seed_empty_store(store)
    except Refused as error:
        raise CommandRefused(str(error)) from error
    try:
        store.snapshot()
    except OlderStore:
        raise
    except StoreError:
        pass  # the pages show what is wrong with it
    link = _print_link(settings, store)
    # gunicorn forks its workers. A process that has imported DuckDB can be forked but does not end cleanly, so start a new one.
    os.environ.update({environment_variable(name): str(value) for name, value in chosen.items()})
    sys.stdout.flush()
    if link and opens and _has_browser():
        os.environ[LINK] = link  # every user of this machine can read the arguments of a process
    os.execv(sys.executable, [sys.executable, "-m", "clueline.dashboard.process.server"])


def _print_link(settings: Settings, store: Store) -> str | None:
    """Print and return a link that signs a browser in, if a server that only this machine reaches is started on a terminal."""
    if not (sys.stdout.isatty() and is_loopback(settings.host) and "token" in (settings.uploads, settings.read)):
        return None
    with suppress(StoreError, TokenError, OSError):
        link = f"{address(settings)}/login?once={new_code(Tokens(store.register))}"
        click.echo(f"To sign a browser in, once and within {MINUTES} minutes: {link}")
        return link
    return None


def _has_browser() -> bool:
    """Return whether there is a browser with a window. One in the terminal would take the place of the server's lines."""
    return sys.platform == "darwin" or any(map(os.environ.get, ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")))


def _check_port(settings: Settings) -> None:
    """Report in one line that the port is taken. gunicorn would try five times first."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            _bind(probe, settings)
        except OSError as error:
            raise CommandRefused(
                f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}. Is Clueline already running? "
                "Choose another port with --port 8051 or CLUELINE_PORT=8051"
            ) from error


def _bind(probe: socket.socket, settings: Settings) -> None:
    """Bind a socket to the port. Wait until the workers of a server that was just killed have left it. Raises ``OSError``."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return probe.bind((settings.host, settings.port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
            time.sleep(0.05)
