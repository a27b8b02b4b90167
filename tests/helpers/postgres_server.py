"""A PostgreSQL server for tests."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from tests.helpers.serving import free_port


def find_programs():
    """Return the folder of PostgreSQL's programs; None if it is not installed. Debian: apt-get install postgresql."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class PostgresServer:
    """A server on loopback with its own database cluster.

    Attributes:
        address: ``127.0.0.1:PORT``, where user ``clueline`` needs no password.
    """

    def __init__(self):
        self.programs = find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="clueline-postgres-"))
        self.user = "postgres" if os.geteuid() == 0 else None  # the server does not run as root
        if self.user:
            shutil.chown(self.folder, self.user)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = None
        self._run("initdb", "-D", self.folder / "data", "-A", "trust", "-U", "clueline", "--no-sync")
        self.start()

    def _run(self, program, *arguments):
        command = [self.programs / program, *arguments]
        subprocess.run(command, check=True, user=self.user, cwd="/", stdout=subprocess.DEVNULL)

    def start(self):
        """Start the server, and wait until it accepts connections."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder),
                    *("-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"),
                ],
                user=self.user,
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + 300
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def stop(self, how=signal.SIGQUIT):
        """Stop the server; by default at once, as if it crashed."""
        if self.process.poll() is None:
            self.resume()
            self.process.send_signal(how)
        self.process.wait(120)

    def restart(self):
        """Stop the server at once and start it again, which recovers its data."""
        self.stop()
        self.start()

    def pause(self):
        """Make the server hang."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        self._send_to_children(signal.SIGSTOP)

    def resume(self):
        """Let the server continue."""
        self._send_to_children(signal.SIGCONT)
        os.killpg(self.process.pid, signal.SIGCONT)

    def _send_to_children(self, number):
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in text.split():
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(int(child), number)

    def remove(self):
        """Stop the server and remove its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, database="postgres"):
        """Return a connection that commits each statement."""
        return psycopg.connect(f"postgres://clueline@{self.address}/{database}", autocommit=True, connect_timeout=5)

    def new_database(self):
        """Return the address of a new, empty database."""
        with self.connect() as connection:
            name = f"lab{time.monotonic_ns()}"
            connection.execute(f"create database {name}")
        return f"postgres://clueline@{self.address}/{name}"
