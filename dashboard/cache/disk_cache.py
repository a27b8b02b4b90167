"""A cache of bytes in a folder, bounded in bytes, which the processes of a host can share.

Not diskcache, which has a limit, too: it unpickles what it finds in its folder (CVE-2025-69872, without a fix), has had no
release since 2023, and one damaged file of its database loses all results. Not flask-caching, which counts files, not bytes.
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

from dashboard.cache.cache_failure import CacheFailure

BLOCK = 4096  # bytes; a file takes whole blocks, and one more for its entry in the folder
VALUES_THAT_FIT = 4  # a value may take a quarter of the cache
SHARE_AFTER_REMOVAL = 0.9  # of the limit, after the oldest values were removed
MAX_RESERVE = 2**30  # bytes; a twentieth of the disk, or this if it is less, is left free
TIME_TO_LIVE = 7 * 24 * 3600  # seconds; results of old versions are never asked for again
NAME = re.compile(r"[0-9a-f]{64}")


class DiskCache:
    """Files named by 64 hexadecimal digits. Those that were used least recently make room for new ones.

    A file begins with a checksum of the rest: one that is damaged counts as absent. Files are written under a lock that all
    processes share, together with the size of them all, so that the limit holds whoever writes.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Open the cache and remove what killed processes left half-written.

        Args:
            folder: made if it is absent. Its parent must exist, so that a lost store is not made anew.
            max_bytes: on disk, of all files together.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        with suppress(CacheFailure), self._locked() as size_file:
            _write_size(size_file, self._remove_oldest(max_bytes))

    def get(self, name: str) -> bytes | None:
        """The bytes under a name; None if there are none, or only damaged ones. Raises ``CacheFailure``."""
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
            os.utime(path)  # used now
        return value

    def set(self, name: str, value: bytes) -> None:
        """Keep bytes under a name, unless they are too many or the disk is nearly full. Raises ``CacheFailure``."""
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
        """How large all files may become: the limit, or less where the disk would be too full."""
        disk = shutil.disk_usage(self._folder)
        return min(self._max_bytes, total + disk.free - min(MAX_RESERVE, disk.total // 20))

    def _remove_oldest(self, limit: int) -> int:
        """Remove unfinished and expired files, then the least recently used ones until the others are within a limit.

        Returns:
            The size of the others.
        """
        files = []
        for entry in os.scandir(self._folder):
            if NAME.fullmatch(entry.name):
                state = entry.stat()
                files.append((state.st_mtime, _disk_size(state.st_size), entry.path))
            elif entry.name.endswith(".tmp"):  # its writer is dead, for it had the lock that we have
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
        """Exclude other writers, of this process and others. Yields the file that holds the size of all files."""
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
