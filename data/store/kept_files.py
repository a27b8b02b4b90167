"""What a store holds outside its catalogues: folders of small files, each with a thing of one kind.

Every such file is written by ``KeptFiles.write``, in one durable step, and says by itself whether it is what was written.
``data.store.kinds`` lists the kinds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from clueline.data.store.errors import StoreError, reason
from clueline.data.store.files import ListedFile, SmallFile, StoreFiles

ENDING = ".json"
AT_ONCE = 8  # files that are read at once when all are checked
RENEWED_EVERY = timedelta(days=1)  # a use renews a file, but not more often


class Damage(NamedTuple):
    """A thing that is not what was written, by its name, and why."""

    name: str
    reason: str


class DamagedThing(StoreError):
    """A kept thing is not what was written. It affects only who names it."""

    def __init__(self, folder: str, name: str, reason: str) -> None:
        super().__init__(f"the file {folder}/{name}{ENDING} is damaged: {reason}")
        self.name, self.reason = name, reason


@dataclass(frozen=True)
class KeptFiles:
    """A folder of small files. ``check`` raises ``ValueError`` for a name and a content that do not belong together.

    Methods that read or write raise ``StoreError``.
    """

    folder: str
    check: Callable[[str, bytes], None]

    def names(self, files: StoreFiles) -> set[str]:
        return {self._name(file) for file in self.listed(files)}

    def listed(self, files: StoreFiles) -> list[ListedFile]:
        """Return the files, those written or renewed longest ago first."""
        with _translated("read"):
            return [file for file in files.listed(self.folder) if file.name.endswith(ENDING)]

    def in_order(self, files: StoreFiles) -> list[tuple[str, datetime]]:
        """Return the name of each thing, and when it was written or renewed, longest ago first."""
        return [(self._name(file), file.written_at) for file in self.listed(files)]

    def read(self, files: StoreFiles, name: str) -> SmallFile | None:
        """Return a thing that is whole; None if there is none. Raises ``DamagedThing``."""
        with _translated("read"):
            stored = files.read_small(self._path(name))
        if stored is not None:
            try:
                self.check(name, stored.content)
            except ValueError as error:
                raise DamagedThing(self.folder, name, str(error)) from error
        return stored

    def write(self, files: StoreFiles, name: str, content: bytes) -> None:
        """Write or replace a thing, durably."""
        with _translated("written"):
            files.write_small(self._path(name), content)

    def remove(self, files: StoreFiles, name: str) -> None:
        with _translated("written"):
            files.remove(self._path(name))

    def use(self, files: StoreFiles, name: str, stored: SmallFile) -> None:
        """Note that a thing is used, unless that was noted lately or cannot be."""
        if stored.written_at < datetime.now(UTC) - RENEWED_EVERY:
            with suppress(OSError):
                files.renew(self._path(name))

    def expire(self, files: StoreFiles, days: int) -> list[str]:
        """Remove what nobody used for so many days, and return its names."""
        until = datetime.now(UTC) - timedelta(days=days)
        expired = [name for name, written_at in self.in_order(files) if written_at < until]
        for name in expired:
            self.remove(files, name)
        return expired

    def copy(self, source: StoreFiles, target: StoreFiles) -> None:
        """Copy the things that the target lacks. Damaged ones stay behind."""
        for name in sorted(self.names(source) - self.names(target)):
            with suppress(DamagedThing):
                if (stored := self.read(source, name)) is not None:
                    self.write(target, name, stored.content)

    def damages(self, files: StoreFiles) -> list[Damage]:
        """Read all things, and return those that are damaged, by name."""

        def damage(name: str) -> Damage | None:
            try:
                self.read(files, name)
            except DamagedThing as error:
                return Damage(name, error.reason)
            return None

        with ThreadPoolExecutor(AT_ONCE) as readers:  # in a bucket, each takes a while
            return [stored for stored in readers.map(damage, sorted(self.names(files))) if stored is not None]

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}{ENDING}"

    def _name(self, file: ListedFile) -> str:
        return file.name.removeprefix(f"{self.folder}/").removesuffix(ENDING)


class _Sealed(msgspec.Struct, forbid_unknown_fields=True):
    sha256: str  # of the bytes of ``content``
    content: msgspec.Raw


def seal(content: object) -> bytes:
    """Return what can be written as JSON, with its checksum."""
    encoded = msgspec.json.encode(content)
    return msgspec.json.encode(_Sealed(hashlib.sha256(encoded).hexdigest(), msgspec.Raw(encoded)))


def unseal(sealed: bytes) -> bytes:
    """Return the JSON of ``seal``. Raises ``ValueError`` if it is not what was written."""
    document = msgspec.json.decode(sealed, type=_Sealed)
    if hashlib.sha256(document.content).hexdigest() != document.sha256:
        raise ValueError("it is not what was written")
    return bytes(document.content)


def check_seal(name: str, content: bytes) -> None:
    """Raise ``ValueError`` unless a content is what ``seal`` returned."""
    unseal(content)


def short_digest(text: str) -> str:
    """Return 16 hexadecimal digits by which a file can be named after any text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def _translated(done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"the store cannot be {done}: {reason(error)}") from error
