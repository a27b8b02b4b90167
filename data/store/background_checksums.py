"""Compares all files of the version in force with their checksums while a server runs."""

from __future__ import annotations

import os
import sys
import threading
from functools import partial

from clueline.data.store.errors import StoreError
from clueline.data.store.run_files import Objects, StoredObject, all_objects, damaged_object
from clueline.data.store.snapshot import Snapshot

PATIENCE = 0.5  # seconds that a caller waits for the first comparison of a version
PAUSE = 10.0  # seconds between two comparisons of a version. Only files that have changed meanwhile are read again
BATCH_SIZE = 64  # objects that are compared at a time


class VersionCheck:
    """A low-priority thread that finds damaged objects of the version in force before a page needs them.

    If files are copies, it only compares objects that were found damaged when they were read: a whole bucket is never fetched.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._changed = threading.Condition()
        self._version = ""
        self._parts: list[StoredObject] = []
        self._finished = False  # the first comparison of this version
        self._damage: StoreError | None = None
        self._thread: threading.Thread | None = None

    def damage(self, snapshot: Snapshot) -> StoreError | None:
        """Return what is wrong with the version in force, None if nothing has been found so far."""
        with self._changed:
            if self._version != snapshot.version:
                self._version, self._parts = snapshot.version, all_objects(snapshot.connection)
                self._finished, self._damage = False, None
                self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="version check", daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._finished, PATIENCE)
            return self._damage

    def _run(self) -> None:
        if sys.platform == "linux":  # where each thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        while True:
            with self._changed:
                version, parts = self._version, self._parts
            damage = self._compare(version, parts)
            with self._changed:
                if self._version == version:
                    self._damage, self._finished = damage, True
                    self._changed.notify_all()
                    self._changed.wait_for(partial(self._has_moved, version), PAUSE)

    def _has_moved(self, version: str) -> bool:
        return self._version != version

    def _compare(self, version: str, parts: list[StoredObject]) -> StoreError | None:
        if self._objects.files.copied:
            parts = [part for part in parts if part.name in self._objects.damaged]
        try:
            for first in range(0, len(parts), BATCH_SIZE):
                for part, damage in self._objects.damages(parts[first : first + BATCH_SIZE]):
                    return damaged_object(part, damage)
                if self._version != version:
                    break
        except StoreError as error:
            return error
        return None
