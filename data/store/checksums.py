"""Checksums of files, and how to tell that a file is still the one that was compared with its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

FileState = tuple[int, int, int]  # inode, bytes, time of the last change in nanoseconds


def fingerprint(path: Path) -> tuple[int, str]:
    """Size and sha256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def file_state(path: Path) -> FileState:
    """What changes whenever somebody writes to a file or replaces it. Raises ``OSError``."""
    state = os.stat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns
