"""Errors of a store."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be opened or written; the message says what to do."""


class DamagedStore(StoreError):
    """The folder holds data, but no version that can be served. Nothing in it is changed before a repair."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The store is damaged: {reason}. Nothing was changed. To restore it: python -m dashboard repair")


class OlderStore(StoreError):
    """An earlier version of Clueline made the store; it must be migrated first."""


class StoreMoved(Exception):
    """The store is no longer at the version that a change was prepared for."""
