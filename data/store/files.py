"""The files of a store: catalogues, and the objects that they name. A file does not change once it has its name.

Also checksums, states of files, and what makes files survive a power failure.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

CATALOGUE = re.compile(r"gen-(\d{6,})(-[0-9a-f]{8})?\.duckdb")

OBJECTS = "objects"  # the folder of the objects
# How the names in the folder of a store begin. ``data.store.kinds`` adds the folders of things outside the catalogues.
NAMES = (
    "CURRENT", "LOCK", "audit", "cache", "gen-", "incoming", OBJECTS, "people.sqlite", "refused", "tokens", "upgraded", "watch",
)  # fmt: skip
FileState = tuple[int, int, int]  # inode, bytes, time of the last change in nanoseconds
DRAFT = ".part"  # ending of the name of a file that is being written
ABANDONED = 3600.0  # seconds after which the draft of a small file is one that a killed process left


class CatalogueFile(NamedTuple):
    """A file whose name is that of a catalogue, such as ``gen-000042.duckdb``. Times are UTC."""

    name: str
    bytes: int
    written_at: datetime

    @property
    def number(self) -> int:
        """42 for ``gen-000042.duckdb``."""
        return number_of(self.name)


class SmallFile(NamedTuple):
    """A small file, and when it was last written or renewed, in UTC."""

    content: bytes
    written_at: datetime


class ListedFile(NamedTuple):
    """A file of a folder. The time is UTC."""

    name: str
    bytes: int
    written_at: datetime


def number_of(name: str) -> int:
    """Return the number of a catalogue: 42 for ``gen-000042.duckdb``. Raises ``ValueError`` for other names."""
    match = CATALOGUE.fullmatch(name)
    if match is None:
        raise ValueError(name)
    return int(match[1])


def oldest_first(files: Iterable[CatalogueFile]) -> list[CatalogueFile]:
    """Sort catalogues by number and, if two writers chose the same number, by time."""
    return sorted(files, key=lambda file: (file.number, file.written_at))


def remove_database(path: Path) -> None:
    """Remove a database and the files that DuckDB puts next to it."""
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_name(path.name + ".tmp"), ignore_errors=True)


def fingerprint(path: Path) -> tuple[int, str]:
    """Return the size of a file in bytes, and its sha256 in hexadecimal."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def file_state(path: Path) -> FileState:
    """Return a value that changes whenever a file is written to or replaced. Raises ``OSError``."""
    state = os.stat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, durably. See ``restrict`` for who may read what is new."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:  # made by another process just now
            continue
        restrict(folder)
        sync(folder.parent)
    path.mkdir(exist_ok=True)  # raises if it is a file


def restrict(path: Path) -> None:
    """Let only the owner read a new file or folder of a store.

    If the folder around it has the setgid bit, by which an operator shares a store, the group may do as much as in that folder.
    What root writes belongs to the owner of the folder around it: a server that runs as that user has to read it.
    """
    around = path.parent.stat()
    shared = around.st_mode & 0o2070 if around.st_mode & stat.S_ISGID else 0
    with suppress(PermissionError):  # some mounts have no permissions, or do not let them be changed
        if os.geteuid() == 0 and path.stat().st_uid != around.st_uid:
            os.chown(path, around.st_uid, around.st_gid)
        path.chmod(0o700 | shared if path.is_dir() else 0o600 | shared & 0o060)


def open_restricted(path: str, flags: int) -> int:
    """Open a file as ``os.open`` does; one that is new is restricted before anything is in it."""
    handle = os.open(path, flags, 0o600)
    if os.fstat(handle).st_size == 0:
        restrict(Path(path))
    return handle


class StoreFiles:
    """The files of a store, in a folder of this host or in one that several hosts share. ``S3Files`` keeps them in a bucket.

    Names are relative paths with ``/``, such as ``objects/responses/…``. All local paths are below ``root``. They are those of
    local copies if ``copied``. Every method may raise ``OSError``.
    """

    copied = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Return a local path with the content of a file. ``S3Files`` raises ``FileNotFoundError`` if there is none."""
        return self.root / name

    def exists(self, name: str) -> bool:
        return (self.root / name).exists()

    def draft(self, name: str) -> Path:
        """Return a local path, at which there is no file yet, for writing a new file before it gets its name."""
        draft = self.root / f"{name}{DRAFT}"
        make_folder(draft.parent)
        remove_database(draft)  # a log without its file would be replayed into the new one
        return draft

    def add(self, name: str, draft: Path) -> None:
        """Give a file its name, durably. Nothing is left at the path of the draft."""
        path = self.root / name
        path.with_name(path.name + ".wal").unlink(missing_ok=True)  # would be replayed into a database of this name
        restrict(draft)
        sync(draft)
        draft.rename(path)
        sync(path.parent)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        path = self.root / name
        remove_database(path)
        if name.startswith(f"{OBJECTS}/"):
            with suppress(OSError):  # other files are in the folder
                path.parent.rmdir()

    def renew_copy(self, name: str) -> None:
        """Replace the local copy of a file, in one step for readers. Paths of a folder are not those of copies."""

    def catalogues(self) -> list[CatalogueFile]:
        """Return the catalogues, oldest first."""
        files = []
        for path in self.root.glob("gen-*.duckdb"):
            if CATALOGUE.fullmatch(path.name):
                with suppress(FileNotFoundError):  # another process has just removed it
                    stat = path.stat()
                    files.append(CatalogueFile(path.name, stat.st_size, datetime.fromtimestamp(stat.st_mtime, UTC)))
        return oldest_first(files)

    def objects(self) -> set[str]:
        """Return the names of the files below ``objects/<kind>/<dataset>/<run>/``, including drafts."""
        return {path.relative_to(self.root).as_posix() for path in self.root.glob(f"{OBJECTS}/*/*/*/*")}

    def listed(self, folder: str) -> list[ListedFile]:
        """Return the files in a folder, such as ``folder/file``, without drafts; those written or renewed longest ago first."""
        present = []
        for path in (self.root / folder).glob("*"):
            with suppress(FileNotFoundError):  # another process has just removed it
                stat = path.stat()
                if path.suffix != DRAFT:
                    written_at = datetime.fromtimestamp(stat.st_mtime, UTC)
                    present.append(ListedFile(f"{folder}/{path.name}", stat.st_size, written_at))
                elif stat.st_mtime < time.time() - ABANDONED:
                    path.unlink()
        return sorted(present, key=lambda file: (file.written_at, file.name))

    def read_small(self, name: str) -> SmallFile | None:
        """Return a small file, None if there is none. Unlike other files, it can be replaced."""
        try:
            with (self.root / name).open("rb") as file:
                return SmallFile(file.read(), datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC))
        except FileNotFoundError:
            return None

    def write_small(self, name: str, content: bytes) -> None:
        """Write or replace a small file in one step: wherever this is killed, the file is the old or the new one. Durable."""
        path = self.root / name
        make_folder(path.parent)
        draft = path.with_name(f"{path.name}-{secrets.token_hex(4)}{DRAFT}")  # of several writers, each has its own
        try:
            with open(draft, "wb", opener=open_restricted) as file:
                file.write(content)
            sync(draft)
            draft.replace(path)
            sync(path.parent)
        finally:
            draft.unlink(missing_ok=True)

    def renew(self, name: str) -> None:
        """Let a small file count as written now, if it exists."""
        with suppress(FileNotFoundError):
            os.utime(self.root / name)

    def sweep_drafts(self) -> None:
        """Remove drafts of catalogues that killed writers left. Call this only while holding the writers' lock."""
        for path in self.root.glob(f"gen-*.duckdb{DRAFT}"):
            remove_database(path)
