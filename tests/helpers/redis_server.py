"""A Redis server for tests."""

import shutil
import signal
import subprocess
import time
from types import SimpleNamespace

import redis

from tests.helpers.serving import free_port

PROGRAM = shutil.which("redis-server")  # Debian: apt-get install redis-server


def start_redis(folder, port=None):
    """Start a Redis server without files. ``stop`` ends it, ``pause`` makes it hang, ``resume`` lets it continue."""
    port = port or free_port()
    command = [PROGRAM, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port)

    def stop():
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(300)

    until = time.monotonic() + 300
    while True:
        try:
            client.ping()
            break
        except redis.RedisError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
    return SimpleNamespace(
        url=f"redis://127.0.0.1:{port}/0",
        port=port,
        client=client,
        stop=stop,
        pause=lambda: process.send_signal(signal.SIGSTOP),
        resume=lambda: process.send_signal(signal.SIGCONT),
    )
