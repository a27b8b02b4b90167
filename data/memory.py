"""What was read of datasets and is held in memory, so that it need not be read for every question anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Protocol, TypeVar, cast

from cachetools import LRUCache


class Sized(Protocol):
    """Arrays, or what is made of them."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""


T = TypeVar("T", bound=Sized)
Key = tuple[str, str, str]  # dataset, its revision, what of it
ROOM = 1 << 30  # bytes of a process


class Memory:
    """Values by key; where they outgrow the room, those go that were asked for least recently."""

    def __init__(self, room: int = ROOM) -> None:
        self._kept: LRUCache[Key, Sized] = LRUCache(room, getsizeof=lambda value: value.nbytes)
        self._lock = Lock()

    def get(self, key: Key, read: Callable[[], T]) -> T:
        """The value of a key, read where there is none. Two threads may read it at once: neither waits for the other."""
        with self._lock:
            if key in self._kept:
                return cast("T", self._kept[key])
        found = read()
        with self._lock:
            if found.nbytes <= self._kept.maxsize:
                self._kept[key] = found
        return found

    def only(self, revisions: Iterable[tuple[str, str]]) -> None:
        """Let go of what is true of no dataset any more; ``revisions``: the pairs of dataset and revision that there are."""
        there = set(revisions)
        with self._lock:
            for key in [key for key in self._kept if key[:2] not in there]:
                del self._kept[key]
