"""A size-limited cache of bytes in a folder, which the processes of a host can share.

Why not diskcache: it also has a size limit, but it unpickles whatever is in its folder (CVE-2025-69872, without a fix), has had
no release since 2023, and loses all results if one file of its database is damaged. Why not flask-caching: it counts files, not
bytes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dashboard.cache.errors import CacheFailure

BLOCK = 4096  # bytes; a file takes whole blocks, and one more for its entry in the folder
VALUES_THAT_FIT = 4  # one value may take at most a quarter of the cache
SHARE_AFTER_REMOVAL = 0.9  # share of the limit that is left after the oldest values were removed
MAX_RESERVE = 2**30  # bytes; this or a twentieth of the disk, whichever is less, stays free
TIME_TO_LIVE = 7 * 24 * 3600  # seconds; results of old data versions are never asked for again
NAME = re.compile(r"[0-9a-f]{64}")


class DiskCache:
    """Files named by 64 hexadecimal digits. The least recently used ones make room for new ones.

    A file begins with a checksum of the rest; a damaged file counts as absent. Files are written under a lock that all processes
    share. The total size is updated under the same lock, so the limit holds whichever process writes.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Open the cache and remove files that killed processes left half-written.

        Args:
            folder: created if it is missing. Its parent must exist, so that a lost store is not created again.
            max_bytes: limit on the disk space of all files together.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        with suppress(CacheFailure), self._locked() as size_file:
            _write_size(size_file, self._remove_oldest(max_bytes))

    def get(self, name: str) -> bytes | None:
        """Return the bytes stored under a name; None if there are none or they are damaged. Raises ``CacheFailure``."""
        path = self._folder / name
        try:
            with path.open("rb", buffering=0) as file:
                checksum, value = file.read(4), file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise CacheFailure(str(error)) from error
        if zlib.crc32(value).to_bytes(4) != checksum:
            return None
        with suppress(OSError):
            os.utime(path)  # marks it as just used
        return value

    def set(self, name: str, value: bytes) -> None:
        """Store bytes under a name, unless there are too many or the disk is nearly full. Raises ``CacheFailure``."""
        with self._locked() as size_file:
            total = _read_size(size_file)
            new = _disk_size(len(value) + 4)
            room = self._room(total) - new
            if new * VALUES_THAT_FIT > self._max_bytes or room < 0:
                return
            if total > room:
                _write_size(size_file, total := self._remove_oldest(int(room * SHARE_AFTER_REMOVAL)))
            path, draft = self._folder / name, self._folder / f"{name}.tmp"
            replaced = _disk_size(path.stat().st_size) if path.exists() else 0
            try:
                with draft.open("wb") as file:
                    file.write(zlib.crc32(value).to_bytes(4))
                    file.write(value)
                draft.replace(path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise
            _write_size(size_file, total + new - replaced)

    def _room(self, total: int) -> int:
        """Return how many bytes all files together may take: the limit, or less if the disk is nearly full."""
        disk = shutil.disk_usage(self._folder)
        return min(self._max_bytes, total + disk.free - min(MAX_RESERVE, disk.total // 20))

    def _remove_oldest(self, limit: int) -> int:
        """Remove unfinished and expired files, then the least recently used ones until the rest is within a limit.

        Returns:
            The size of the remaining files in bytes.
        """
        files = []
        for entry in os.scandir(self._folder):
            if NAME.fullmatch(entry.name):
                state = entry.stat()
                files.append((state.st_mtime, _disk_size(state.st_size), entry.path))
            elif NAME.fullmatch(entry.name.removesuffix(".tmp")):  # its writer held the lock that we hold now, so it is dead
                os.unlink(entry.path)
        total = sum(size for _, size, _ in files)
        expired = time.time() - TIME_TO_LIVE
        for used, size, path in sorted(files):
            if total <= limit and used > expired:
                break
            os.unlink(path)
            total -= size
        return total

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        """Exclude other writers in this and other processes. Yields the file that holds the size of all files."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(self._folder / "size", os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except OSError as error:
            raise CacheFailure(str(error)) from error


def _disk_size(size: int) -> int:
    return (size // BLOCK + 2) * BLOCK


def _read_size(file: IO[bytes]) -> int:
    file.seek(0)
    content = file.read()
    return int(content) if content.isdigit() else 0


def _write_size(file: IO[bytes], size: int) -> None:
    file.seek(0)
    file.write(f"{size:020}".encode())
    file.flush()
