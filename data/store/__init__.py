"""The store: its contents, and how they are read and written. Other packages import the names below from here."""

from clueline.data.store.catalogue_schema import check_schema, create_schema
from clueline.data.store.errors import DamagedStore, OlderStore, OtherVersion, StoreError, StoreMoved
from clueline.data.store.snapshot import Snapshot, once_per_snapshot
from clueline.data.store.store import Store, open_store

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
