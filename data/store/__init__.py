"""The store: its contents, and how they are read and written. Other packages import the names below from here."""

from data.store.catalogue_schema import check_schema, create_schema
from data.store.errors import DamagedStore, OlderStore, OtherVersion, StoreError, StoreMoved
from data.store.snapshot import Snapshot, once_per_snapshot
from data.store.store import Store, open_store

__all__ = [
    "DamagedStore",
    "OlderStore",
    "OtherVersion",
    "Snapshot",
    "Store",
    "StoreError",
    "StoreMoved",
    "check_schema",
    "create_schema",
    "once_per_snapshot",
    "open_store",
]
