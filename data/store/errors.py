"""Errors of a store."""

from __future__ import annotations

from errno import EACCES, EPERM, EROFS
from typing import Literal

Remedy = Literal["repair", "repair if damaged", "migrate"]


class StoreError(Exception):
    """The store cannot be opened or written. The code that shows the message names the command that is the remedy."""

    remedy: Remedy | None = None


def reason(error: Exception) -> str:
    """Return why something cannot be written.

    >>> reason(OSError(EROFS, "Read-only file system", "/srv/store/LOCK"))
    'it can only be read here'
    """
    read_only = isinstance(error, OSError) and error.errno in (EROFS, EACCES, EPERM)
    return "it can only be read here" if read_only or "readonly database" in str(error) else str(error)


class OutOfMemory(StoreError):
    """A computation needs more memory than it may use."""


class DamagedStore(StoreError):
    """The folder holds data, but no version that can be served. Nothing in it is changed before a repair."""

    remedy = "repair"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The store is damaged: {reason}. Nothing was changed.")
        self.reason = reason


class UnreadableStore(StoreError):
    """The version in force exists but cannot be opened. It may be damaged."""

    remedy = "repair if damaged"


class OtherVersion(StoreError):
    """Another version of Clueline made the store. It is not damaged, so nothing may be repaired."""


class OlderStore(OtherVersion):
    """An earlier version of Clueline made the store; it must be migrated first."""

    remedy = "migrate"


class UnknownSchema(OtherVersion):
    """An early version of Clueline made the store. No step leads from its schema to the present one."""

    def __init__(self, schema: int, first: int) -> None:
        super().__init__(
            f"The store has schema {schema}, from before 24 November 2026. This version reads schema {first} and later. Use the "
            "version that made the store, or start a new store and import the files again."
        )


class NeedsMigration(StoreError):
    """A change needs something that the store's schema, an earlier one, cannot hold."""

    remedy = "migrate"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the store has an earlier schema, which has no room for {what}. Migrate it once all servers run this version."
        )


class StoreMoved(Exception):
    """The store is no longer at the version that a change was prepared for."""
