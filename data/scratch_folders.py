"""Temporary folders, and the removal of those whose process was killed."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "clueline-scratch-"
GRACE = 10.0  # seconds before a folder without a lock is removed: its process may be about to lock it


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a folder for temporary files. It is removed at the end or, if this process is killed, by a later call."""
    with _folder_in(Path(tempfile.gettempdir()), PREFIX) as folder:
        yield folder


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Create a scratch folder next to a path that is about to be written, so that it appears complete or not at all.

    Those that killed processes left beside any path of the same folder are removed.
    """
    _sweep(target.parent, f".*.{PREFIX}*")
    with _folder_in(target.parent, f".{target.name}.{PREFIX}") as folder:
        yield folder


@contextmanager
def _folder_in(root: Path, prefix: str) -> Iterator[Path]:
    sweep(root, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=root, ignore_cleanup_errors=True) as name, keep(Path(name)):
        yield Path(name)


@contextmanager
def keep(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Keep a folder from being swept. The system releases it if this process dies.

    Several processes can hold a folder, unless they want it ``alone``: then one waits for the other.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # if folders cannot be locked on this disk, sweeping fails, too
            fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def sweep(root: Path, prefix: str) -> None:
    """Remove this user's folders in ``root`` that no process holds and whose names begin with ``prefix``."""
    _sweep(root, f"{glob.escape(prefix)}*")


def _sweep(root: Path, pattern: str) -> None:
    with suppress(OSError):
        for folder in root.glob(pattern):
            with suppress(OSError):
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle)
        if status.st_uid == os.getuid() and status.st_mtime < time.time() - GRACE:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
