"""A real S3 server for tests: Ceph's object gateway with one monitor and one storage daemon that stores data in memory."""

import shutil
import subprocess
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.helpers.serving import free_port

PROGRAMS = ("radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool")  # Debian: radosgw, ceph-mon, ceph-osd
KEYS = {"access_key_id": "clueline", "secret_access_key": "secret", "region": "us-east-1"}
SETTINGS = """
[global]
fsid = {fsid}
mon host = [v1:127.0.0.1:{mon}]
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon warn on pool no redundancy = false
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4294967296
osd class load list = *
osd class default list = *
osd max object name len = 256
run dir = {folder}/run
admin socket = {folder}/run/$name.asok
log file = {folder}/$name.log
mon data = {folder}/mon
osd data = {folder}/osd
mon cluster log file = {folder}/cluster.log
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw data = {folder}
keyring = {folder}/keyring
"""


def is_installed():
    """Return whether its programs are installed."""
    return all(shutil.which(program) for program in PROGRAMS)


class S3Server:
    """A server on loopback.

    Attributes:
        address: ``http://127.0.0.1:PORT``.
        environment: environment variables with which clients find it.
    """

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="clueline-s3-"))
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environment = {"AWS_ENDPOINT_URL": self.address} | {f"AWS_{name.upper()}": value for name, value in KEYS.items()}
        self.processes = []
        try:
            self._start()
        except BaseException:
            self.remove()
            raise

    def _start(self):
        folder, settings = self.folder, self.folder / "ceph.conf"
        for name in ("mon", "osd", "run"):
            (folder / name).mkdir()
        (folder / "keyring").touch()
        fsid, mon = str(uuid.uuid4()), free_port()
        settings.write_text(SETTINGS.format(fsid=fsid, mon=mon, folder=folder, port=self.port))
        address = f"[v1:127.0.0.1:{mon}]"
        self._run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, folder / "monmap")
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", folder / "monmap", "-c", settings)
        self._serve("ceph-mon", "-i", "a")
        disk = str(uuid.uuid4())
        until = time.monotonic() + 300
        while not self._succeeds("ceph", "-c", settings, "osd", "new", disk):  # fails until the monitor leads
            assert time.monotonic() < until
            time.sleep(0.2)
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk, "-c", settings)
        storage = self._serve("ceph-osd", "-i", "0")
        self._serve("radosgw", "-n", "client.rgw")
        until = time.monotonic() + 300
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=10).close()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                if storage.poll() is not None:  # it exits if it contacts the monitor before it knows the monitor's id
                    storage = self._serve("ceph-osd", "-i", "0")
                time.sleep(0.2)
        keys = ("--access-key", KEYS["access_key_id"], "--secret", KEYS["secret_access_key"])
        self._run("radosgw-admin", "-c", settings, "user", "create", "--uid=clueline", "--display-name=Clueline", *keys)

    def _run(self, *command):
        subprocess.run(command, capture_output=True, timeout=120, check=True)

    def _succeeds(self, program, *arguments):
        # Debian's client of Ceph is a script for Debian's Python.
        command = [shutil.which("python3", path="/usr/bin"), shutil.which(program), *arguments]
        return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0

    def _serve(self, program, *arguments):
        with (self.folder / f"{program}.out").open("wb") as out:
            command = [program, *arguments, "-c", self.folder / "ceph.conf", "-f"]
            process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
            self.processes.append(process)
            return process

    def new_bucket(self):
        """Return the address of a new, empty bucket."""
        name = f"lab{time.monotonic_ns()}"
        # A bucket is created by writing to its address, which a client can do as if it were an object of the server.
        root = S3Store(
            "none",
            config={"endpoint": self.address, "virtual_hosted_style_request": True, **KEYS},
            client_options={"allow_http": True},
        )
        try:
            obstore.put(root, name, b"", use_multipart=False)
        except BaseError as error:
            if "MissingEtag" not in str(error):  # a bucket has no ETag
                raise
        return f"s3://{name}"

    def remove(self):
        """Stop the server and remove its data."""
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
