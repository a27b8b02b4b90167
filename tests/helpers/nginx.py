"""nginx in front of one or more servers, for tests."""

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.helpers.paths import ROOT
from tests.helpers.serving import free_port

PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")  # Debian: apt-get install nginx-light
BALANCER = ROOT / "deploy" / "nginx.conf"  # the settings that we ship
NAMES = ("web-a:8050", "web-b:8050")  # names of the servers in these settings
NAMING_USERS = """
pid /tmp/nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path /tmp/nginx-body; proxy_temp_path /tmp/nginx-proxy; fastcgi_temp_path /tmp/nginx-fastcgi;
    uwsgi_temp_path /tmp/nginx-uwsgi; scgi_temp_path /tmp/nginx-scgi;
    server {
        listen 8080;
        location / {
            proxy_pass UPSTREAM;
            proxy_read_timeout 600s;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Host $http_host;
            proxy_set_header X-Forwarded-Proto https;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Remote-User $http_x_login;
        }
    }
}
"""


class Nginx:
    """A proxy on loopback, at ``address``, with its files in ``folder``: paths in ``/tmp/nginx...`` are moved there."""

    def __init__(self, folder: Path, settings: str):
        folder.mkdir()
        port = free_port()
        file = folder / "nginx.conf"
        settings = settings.replace("/tmp/nginx", f"{folder}/nginx")
        file.write_text(settings.replace("listen 8080;", f"listen 127.0.0.1:{port};"), encoding="utf-8")
        self.address = f"http://127.0.0.1:{port}"
        directives = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
        command = [PROGRAM, "-p", str(folder), "-c", str(file), "-g", directives]
        self.process = subprocess.Popen(command, stderr=(folder / "stderr").open("wb"))
        until = time.monotonic() + 300
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=10).close()
                return
            except (OSError, urllib.error.HTTPError):
                if self.process.poll() is not None or time.monotonic() > until:
                    self.stop()
                    raise
                time.sleep(0.05)

    def stop(self):
        """Stop the proxy."""
        self.process.terminate()
        self.process.wait(300)


def balancer(folder: Path, addresses: list[str]) -> Nginx:
    """Start a proxy that distributes requests between two servers, with the settings that we ship."""
    settings = BALANCER.read_text(encoding="utf-8")
    for name, address in zip(NAMES, addresses, strict=True):
        assert name in settings
        settings = settings.replace(name, address.removeprefix("http://"))
    return Nginx(folder, settings)


def naming_proxy(folder: Path, address: str) -> Nginx:
    """Start a proxy that names its user. It takes the name from the header ``X-Login``, in place of a real log-in."""
    return Nginx(folder, NAMING_USERS.replace("UPSTREAM", address))
