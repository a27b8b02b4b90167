"""What was read of runs and is held in memory, so that it need not be read for every question anew."""

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
About = tuple[str, str, str]  # dataset, its base, what of it
ROOM = 1 << 30  # bytes of a process


class Memory:
    """Values by what they are and run; where they outgrow the room, those go that were asked for least recently."""

    def __init__(self, room: int = ROOM) -> None:
        self._kept: LRUCache[tuple[About, str], Sized] = LRUCache(room, getsizeof=lambda value: value.nbytes)
        self._lock = Lock()
        self._reading: defaultdict[str, RLock] = defaultdict(RLock)  # by dataset; whoever reads may need something else for it

    def get(self, about: About, runs: Sequence[str], read: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """The values of some runs, those that are not there read at once. Nothing is read by two threads at the same time."""
        found: dict[str, T] = self._there(about, runs)
        if len(found) < len(set(runs)):
            with self._reading[about[0]]:
                found |= self._there(about, [run for run in runs if run not in found])
                missing = [run for run in dict.fromkeys(runs) if run not in found]
                if missing:
                    new = read(missing)
                    found |= new
                    self._keep(about, new)
        return found

    def _there(self, about: About, runs: Sequence[str]) -> dict[str, T]:
        with self._lock:
            return {run: cast("T", self._kept[about, run]) for run in runs if (about, run) in self._kept}

    def _keep(self, about: About, new: Mapping[str, T]) -> None:
        with self._lock:
            for run, value in new.items():
                if value.nbytes <= self._kept.maxsize:
                    self._kept[about, run] = value

    def only(self, bases: Iterable[tuple[str, str]]) -> None:
        """Let go of what is true of no dataset any more; ``bases``: the pairs of dataset and base that there are."""
        there = set(bases)
        with self._lock:
            for key in [key for key in self._kept if key[0][:2] not in there]:
                del self._kept[key]
