"""The password of an encrypted zip, from the environment or typed on a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.helpers.encrypted_zips import encrypted_zip
from tests.helpers.grace_packets import PACKETS
from tests.helpers.paths import ROOT


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "release.zip"
    path.write_bytes(encrypted_zip({"packet3_buzzpoints.json": json.dumps(PACKETS[3]).encode()}, "sesame"))
    return path


def typed(store, path, *lines):
    """Return exit code and output of an import on a terminal. Each time a password is asked for, the next line is typed."""
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "clueline", "import", path]
    environment = os.environ | {"CLUELINE_STORE": str(store)}
    left, output = [*lines], b""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        os.close(inner)
        while part := os.read(process.stdout.fileno(), 4096):
            output += part
            if left and output.count(b"Password:") > len(lines) - len(left):
                os.write(terminal, f"{left.pop(0)}\n".encode())
    os.close(terminal)
    return process.returncode, output.decode()


def test_the_password_comes_from_the_environment(cli, copied, release):
    done = cli("import", release, store=copied, grace_password="sesame")
    assert done.returncode == 0, done.stderr
    assert "2 questions imported" in done.stdout
    assert "sesame" not in done.stdout + done.stderr


def test_without_a_terminal_nobody_is_asked(cli, copied, release):
    done = cli("import", release, store=copied)
    assert done.returncode == 1
    assert "CLUELINE_GRACE_PASSWORD" in done.stderr and "Password:" not in done.stderr


@pytest.mark.parametrize(("lines", "code", "asked"), [(("wrong", "sesame"), 0, 2), (("a", "b", "c", "sesame"), 1, 3)])
def test_a_terminal_asks_three_times_at_most(copied, release, lines, code, asked):
    ended, output = typed(copied, release, *lines)
    assert (ended, output.count("Password:")) == (code, asked), output
    assert "the password does not open the zip" in output and "sesame" not in output
