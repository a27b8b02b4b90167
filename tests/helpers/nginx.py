"""An nginx before a server, for tests: it says who its user is."""

import os
import shutil
import socket
import subprocess
import time

from tests.helpers.serving import free_port

PROGRAM = shutil.which("nginx")  # Debian: apt-get install nginx
CONFIGURATION = """
daemon off; master_process off; worker_processes 1; error_log {folder}/error.log; pid {folder}/pid; {user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {upstream};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Host $http_host;
            proxy_set_header X-Forwarded-Proto https;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Remote-User $http_x_login;
        }}
    }}
}}
"""


def start_nginx(folder, upstream):
    """Its address and its process; the user is who the header ``X-Login`` names, in place of a real log-in."""
    port = free_port()
    configuration = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, upstream=upstream, user=user))
    process = subprocess.Popen([PROGRAM, "-c", configuration, "-p", folder], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return f"http://127.0.0.1:{port}", process
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
