"""A lock between processes that also works if the file system's own locks exclude nobody, as on some network mounts."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from data.store.errors import StoreError

ABANDONED = 300.0  # seconds without a change after which another host's claim is treated as left by a dead process
WAIT = 0.01  # seconds between attempts


class Claim:
    """The claim of a process that holds the lock: a file, and its content while this process holds the lock."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content

    def holds(self) -> bool:
        """Return whether this process still holds the claim. Another host takes it over after ``ABANDONED`` seconds."""
        return _read(self.path) == self.content


@contextmanager
def exclusive_lock(path: Path, patience: float, busy: str) -> Iterator[Claim]:
    """Hold a lock. It is released if the process is killed.

    If another process holds it for ``patience`` seconds, ``StoreError`` is raised with the message ``busy``.

    ``flock`` comes first: it is fast, and the system releases it. Some network mounts grant it to several hosts at once. So the
    holder also creates a file exclusively, with ``.held`` appended to its name, which names its host and process. A file left by
    a dead process is removed: at once if the process ran on this host, else after ``ABANDONED`` seconds.
    """
    until = time.monotonic() + patience
    with path.open("a") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait(until, busy)
        claim = Claim(path.with_name(f"{path.name}.held"), _this_process())
        _make(claim, until, busy)
        try:
            yield claim
        finally:
            if claim.holds():
                claim.path.unlink(missing_ok=True)


def _make(claim: Claim, until: float, busy: str) -> None:
    draft = claim.path.with_name(f"{claim.path.name}.{secrets.token_hex(8)}")
    draft.write_bytes(claim.content)
    seen, since = None, time.monotonic()
    try:
        while True:
            try:
                os.link(draft, claim.path)  # creates it with its content, or fails if it exists
            except FileExistsError:
                held = _read(claim.path)
                if held != seen:
                    seen, since = held, time.monotonic()
                if held is not None and _is_abandoned(held, time.monotonic() - since):
                    _remove(claim.path, held)
                else:
                    _wait(until, busy)
            else:
                return
    finally:
        draft.unlink(missing_ok=True)


def _remove(path: Path, abandoned: bytes) -> None:
    """Remove the claim of a dead process, but not a claim that another process has created in its place meanwhile."""
    taken = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        path.rename(taken)
        if taken.read_bytes() != abandoned:
            with suppress(FileExistsError):
                os.link(taken, path)
        taken.unlink()


def _is_abandoned(held: bytes, unchanged: float) -> bool:
    """Return whether the process that made a claim is gone, as far as this one can tell. ``unchanged`` is in seconds."""
    try:
        holder = json.loads(held)
        host, process, started = holder["host"], holder["process"], holder["started"]
    except (ValueError, KeyError, TypeError):
        return unchanged > ABANDONED
    if host == _host():
        return bool(_start_of(process) != started)
    return unchanged > ABANDONED


def _this_process() -> bytes:
    holder = {"host": _host(), "process": os.getpid(), "started": _start_of(os.getpid()), "token": secrets.token_hex(8)}
    return json.dumps(holder).encode()


def _host() -> str:
    """Return what processes that see each other have in common: the boot of the system and the namespace of their numbers."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return os.uname().nodename


def _start_of(process: object) -> str:
    """Return when a process of this host started, as the system counts time; blank if it is gone."""
    try:
        # The program's name, in brackets, can contain anything.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return ""
    with suppress(OSError, TypeError, OverflowError):  # not Linux: process numbers are reused, so this may wait in vain
        os.kill(process, 0)  # type: ignore[arg-type]
        return "running"
    return ""


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _wait(until: float, busy: str) -> None:
    if time.monotonic() > until:
        raise StoreError(busy)
    time.sleep(WAIT)
