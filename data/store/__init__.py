"""The store: what it holds, how it is read and written. Other packages import its names from here."""

from data.store.errors import DamagedStore, OlderStore, StoreError, StoreMoved
from data.store.generations import GenerationStore, create_schema, open_store
from data.store.snapshot import Snapshot

__all__ = ["DamagedStore", "GenerationStore", "OlderStore", "Snapshot", "StoreError", "StoreMoved", "create_schema", "open_store"]
