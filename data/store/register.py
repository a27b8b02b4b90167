"""The register of a store: which catalogue is in force, and the lock of those who write."""

from __future__ import annotations

import fcntl
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from data.store.durable import sync
from data.store.errors import DamagedStore, StoreError

CATALOGUE = re.compile(r"gen-\d{6,}\.duckdb")
NO_CATALOGUE = "none"  # what CURRENT names while the first write is under way


class Pointer(NamedTuple):
    """What is in force: the name of a catalogue, and the version, which is never reused. ("", "0") before the first write."""

    name: str
    version: str


class FolderRegister:
    """The file ``CURRENT`` in the store's folder. It holds the name of a catalogue and a token that never repeats."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._has_been_written = False

    def read(self) -> Pointer:
        """The pointer.

        Raises:
            DamagedStore: it is lost or cannot be read, in a folder that holds data.
            StoreError: the system does not allow it to be read.
        """
        path = self.folder / "CURRENT"
        try:
            name, token = path.read_text(encoding="ascii").split()
        except (FileNotFoundError, NotADirectoryError):
            if self._has_been_written and not self.folder.exists():
                raise DamagedStore("its folder is gone") from None
            if self._has_been_written or self.catalogues():
                raise DamagedStore("the file CURRENT, which names the version in force, is gone") from None
            return Pointer("", "0")
        except ValueError:
            raise DamagedStore("the file CURRENT does not name a version") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if name == NO_CATALOGUE:
            return Pointer("", "0")
        if not CATALOGUE.fullmatch(name):
            raise DamagedStore("the file CURRENT does not name a version")
        self._has_been_written = True
        return Pointer(name, f"{number_of(Path(name))}-{token}")

    def point(self, name: str) -> None:
        """Put a catalogue in force, durably. Only who holds the lock may call this."""
        draft = self.folder / "CURRENT.tmp"
        draft.write_text(f"{name} {secrets.token_hex(4)}\n", encoding="ascii")
        sync(draft)
        draft.replace(self.folder / "CURRENT")
        sync(self.folder)

    def catalogues(self) -> list[Path]:
        """The files in the folder that are catalogues by their name, oldest first."""
        return sorted((path for path in self.folder.glob("gen-*.duckdb") if CATALOGUE.fullmatch(path.name)), key=number_of)

    @contextmanager
    def locked(self, patience: float = 900.0) -> Iterator[None]:
        """Hold the writers' lock. The system frees it if this process dies.

        Args:
            patience: seconds to wait for it.

        Raises:
            StoreError: another process held it for that long.
        """
        with (self.folder / "LOCK").open("a") as handle:
            until = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise StoreError("another import has held the store for 15 minutes; try again when it is done") from None
                    time.sleep(0.01)
            yield


def number_of(path: Path) -> int:
    """42 for gen-000042.duckdb."""
    return int(path.stem.removeprefix("gen-"))
