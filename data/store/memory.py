"""Values of runs kept in memory, so that they are read from the store only once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock, RLock
from typing import Protocol, TypeVar, cast

from cachetools import LRUCache


class Sized(Protocol):
    """Arrays, or what is made of them."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""


T = TypeVar("T", bound=Sized)
Key = tuple[str, str, str]  # dataset, its base, name of the value
CAPACITY = 1 << 30  # bytes of a process


class Memory:
    """Values by key and run. Above the capacity, those that were used least recently are dropped."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._kept: LRUCache[tuple[Key, str], Sized] = LRUCache(capacity, getsizeof=lambda value: value.nbytes)
        self._lock = Lock()
        self._reading: defaultdict[str, RLock] = defaultdict(
            RLock
        )  # by dataset; reading a value may need another one of the dataset

    def get(self, key: Key, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """The values of some runs; those not in memory are read together. No value is read by two threads at a time."""
        values: dict[str, T] = self._kept_values(key, runs)
        if len(values) < len(set(runs)):
            with self._reading[key[0]]:
                values |= self._kept_values(key, [run for run in runs if run not in values])
                missing = [run for run in dict.fromkeys(runs) if run not in values]
                if missing:
                    new = read(missing)
                    values |= new
                    self._keep(key, new)
        return values

    def _kept_values(self, key: Key, runs: Sequence[str]) -> dict[str, T]:
        with self._lock:
            return {run: cast("T", self._kept[key, run]) for run in runs if (key, run) in self._kept}

    def _keep(self, key: Key, new: Mapping[str, T]) -> None:
        with self._lock:
            for run, value in new.items():
                if value.nbytes <= self._kept.maxsize:
                    self._kept[key, run] = value

    def retain(self, bases: Iterable[tuple[str, str]]) -> None:
        """Drop all values but those of some pairs of dataset and base."""
        current = set(bases)
        with self._lock:
            for key in [key for key in self._kept if key[0][:2] not in current]:
                del self._kept[key]
