"""A cache of values of single runs, such as columns of their statistics, in the memory of one process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock, RLock
from typing import Any, Generic, Protocol, TypeVar, cast

from cachetools import LRUCache


class Sized(Protocol):
    """Arrays, or a struct of arrays."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""


T = TypeVar("T", bound=Sized)
R = TypeVar("R")
Key = tuple[str, str, str]  # dataset, its base, name of the value
CAPACITY = 1 << 30  # bytes per process


class RunCache:
    """Values by key and run. Above the capacity, those that were used least recently are dropped."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._values: LRUCache[tuple[Key, str], Sized] = LRUCache(capacity, getsizeof=lambda value: value.nbytes)
        self._lock = Lock()
        # By dataset. Reading a value may need another value of the same dataset.
        self._reading: defaultdict[str, RLock] = defaultdict(RLock)

    def get(self, key: Key, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """Return the values of some runs. Values not cached are read together, and never by two threads at a time."""
        values: dict[str, T] = self._cached_values(key, runs)
        if len(values) < len(set(runs)):
            with self._reading[key[0]]:
                values |= self._cached_values(key, [run for run in runs if run not in values])
                missing = [run for run in dict.fromkeys(runs) if run not in values]
                if missing:
                    new = read(missing)
                    values |= new
                    self._add(key, new)
        return values

    def missing(self, key: Key, runs: Sequence[str]) -> list[str]:
        with self._lock:
            return [run for run in runs if (key, run) not in self._values]

    def _cached_values(self, key: Key, runs: Sequence[str]) -> dict[str, T]:
        with self._lock:
            return {run: cast("T", self._values[key, run]) for run in runs if (key, run) in self._values}

    def _add(self, key: Key, new: Mapping[str, T]) -> None:
        with self._lock:
            for run, value in new.items():
                if value.nbytes <= self._values.maxsize:
                    self._values[key, run] = value

    def retain(self, bases: Iterable[tuple[str, str]]) -> None:
        """Drop all values except those of these pairs of dataset and base."""
        current = set(bases)
        with self._lock:
            for key in [key for key in self._values if key[0][:2] not in current]:
                del self._values[key]


class kept_property(Generic[R]):  # noqa: N801: used as a decorator, like ``functools.cached_property``
    """An attribute that is computed when it is first asked for, and then kept with its object.

    Unlike ``functools.cached_property`` of Python 3.11, it has no lock that all objects of a class share. With one, a thread
    that reads values of the cache inside such an attribute, and one that asks for the attribute while it fills the cache, would
    wait for each other forever.
    """

    def __init__(self, compute: Callable[[Any], R]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> R:
        if instance is None:
            return cast("R", self)
        value: R = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
