"""Folders for what is only needed for a while, and the sweeping up of those whose process was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "clueline-scratch-"
GRACE = 10.0  # seconds in which a new folder is held by whoever made it


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder among the system's temporary files; gone at the end, or at a later call if this process is killed."""
    sweep(Path(tempfile.gettempdir()), PREFIX)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, held(Path(name)):
        yield Path(name)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder from being swept up, as several processes can at once; the system lets go if this one dies."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # where folders cannot be locked, nobody sweeps them up either
            fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def sweep(root: Path, prefix: str = "") -> None:
    """Remove the folders of this user in ``root`` that nobody holds any more."""
    with suppress(OSError):
        for folder in root.glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        if found.st_uid == os.getuid() and found.st_mtime < time.time() - GRACE:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
