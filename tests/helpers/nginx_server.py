"""nginx in front of several servers, for tests."""

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.helpers.paths import ROOT
from tests.helpers.serving import free_port

PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")  # Debian: apt-get install nginx-light
SETTINGS = ROOT / "deploy" / "nginx.conf"
NAMES = ("web-a:8050", "web-b:8050")  # of the servers, in the settings


class Nginx:
    """A proxy on loopback that shares requests out between two servers, with the settings that we give away.

    Args:
        folder: for its files.
        addresses: of the servers, ``http://HOST:PORT``.

    Attributes:
        address: its own.
    """

    def __init__(self, folder: Path, addresses: list[str]):
        folder.mkdir()
        port = free_port()
        text = SETTINGS.read_text(encoding="utf-8").replace("/tmp/nginx", f"{folder}/nginx")
        for name, address in zip(NAMES, addresses, strict=True):
            assert name in text
            text = text.replace(name, address.removeprefix("http://"))
        settings = folder / "nginx.conf"
        settings.write_text(text.replace("listen 8080;", f"listen 127.0.0.1:{port};"))
        self.address = f"http://127.0.0.1:{port}"
        command = [PROGRAM, "-p", str(folder), "-c", str(settings), "-g", "daemon off; user root;"]
        self.process = subprocess.Popen(command, stderr=(folder / "stderr").open("wb"))
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=10).close()
                return
            except (OSError, urllib.error.HTTPError):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def stop(self):
        """End it."""
        self.process.terminate()
        self.process.wait(20)
