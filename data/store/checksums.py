"""Checksums of files, and states of files, which show whether a file has changed since it was compared with its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

FileState = tuple[int, int, int]  # inode, bytes, time of the last change in nanoseconds


def fingerprint(path: Path) -> tuple[int, str]:
    """Return the size of a file in bytes, and its sha256 in hexadecimal."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def file_state(path: Path) -> FileState:
    """Return a value that changes whenever a file is written to or replaced. Raises ``OSError``."""
    state = os.stat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns
