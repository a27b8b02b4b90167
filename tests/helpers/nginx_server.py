"""nginx in front of several servers, for tests."""

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.helpers.serving import free_port

PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")  # Debian: apt-get install nginx-light
SETTINGS = """
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
daemon off;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_max_body_size 1g;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream hosts {{
{hosts}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://hosts;
            proxy_set_header Host $http_host;
            # What cannot be answered by one host is asked of the other.
            proxy_next_upstream error timeout http_503;
            proxy_connect_timeout 2s;
        }}
    }}
}}
"""


class Nginx:
    """A proxy on loopback that shares requests out between servers.

    Args:
        folder: for its files.
        addresses: of the servers, ``http://HOST:PORT``.

    Attributes:
        address: its own.
    """

    def __init__(self, folder: Path, addresses: list[str]):
        folder.mkdir()
        port = free_port()
        # A host that failed is tried again after a second.
        hosts = "\n".join(
            f"        server {address.removeprefix('http://')} max_fails=1 fail_timeout=1s;" for address in addresses
        )
        settings = folder / "nginx.conf"
        settings.write_text(SETTINGS.format(folder=folder, port=port, hosts=hosts))
        self.address = f"http://127.0.0.1:{port}"
        command = [PROGRAM, "-p", str(folder), "-c", str(settings), "-g", "user root;"]
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
