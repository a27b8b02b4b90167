"""Rate limits for clients and players of sessions, places that few can hold at once, and turns that others wait for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock

from clueline.queries.query_time_limit import Abandoned

LOOK_INTERVAL = 0.25  # seconds between checks whether a client still waits for its turn
MAX_KEYS = 10_000  # above this, keys that made no request for a while are forgotten


class RequestRate:
    """A token bucket for each of many keys: a burst of requests at once, then a steady rate.

    After a pause a key can make ``burst`` requests at once. It can keep up ``per_second`` for ever. ``clock`` returns ascending
    seconds.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._burst, self._clock = 1 / per_second, burst, clock
        self._due: dict[str, float] = {}  # by key, when its next request would be due at the steady rate
        self._lock = Lock()

    def takes(self, key: str) -> bool:
        """Return whether a key may make a request now. A request that is allowed is counted.

        >>> rate = RequestRate(per_second=1, burst=2, clock=lambda: 0)
        >>> [rate.takes("ann") for _ in range(4)], rate.takes("ben")
        ([True, True, False, False], True)
        """
        with self._lock:
            now = self._clock()
            due = max(self._due.get(key, now), now)
            if due - now > (self._burst - 1) * self._interval + 1e-9:
                return False
            self._due[key] = due + self._interval
            if len(self._due) > MAX_KEYS:
                self._due = {name: due for name, due in self._due.items() if due > now}
            return True

    def __len__(self) -> int:
        """Return how many keys are remembered."""
        return len(self._due)


class Places:
    """Places of which ``most`` can be held at once, and fewer by one client. Nobody waits for one."""

    def __init__(self, most: int, most_of_client: int) -> None:
        self._most, self._most_of_client = most, most_of_client
        self._held: Counter[str] = Counter()
        self._lock = Lock()

    @contextmanager
    def hold(self, client: str) -> Iterator[bool]:
        """Hold a place meanwhile, and yield whether there was one for the client.

        >>> places = Places(most=3, most_of_client=2)
        >>> with places.hold("ann"), places.hold("ann"), places.hold("ann") as third, places.hold("ben") as other:
        ...     third, other
        (False, True)
        """
        with self._lock:
            free = self._held.total() < self._most and self._held[client] < self._most_of_client
            self._held[client] += free
        try:
            yield free
        finally:
            with self._lock:
                self._held[client] -= free
                if not self._held[client]:
                    del self._held[client]


class Turns:
    """Turns of which ``most`` can be held at once, and fewer by one client. Others wait for theirs.

    Who has waited longest is next. A client that may not hold more is passed over. At the end of its turn, a client goes behind
    all who wait, so one with many requests alternates with the others. ``waiting`` has the names of those who wait, in order.
    """

    def __init__(self, most: int, most_of_client: int) -> None:
        self._most, self._most_of_client = most, most_of_client
        self._queue: dict[object, str] = {}
        self._held: Counter[str] = Counter()
        self._changed = Condition()

    @property
    def waiting(self) -> list[str]:
        return [*self._queue.values()]

    @contextmanager
    def hold(self, client: str, abandoned: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn, and hold it meanwhile. Raises ``Abandoned`` once ``abandoned`` says that nobody waits any more."""
        ticket = object()
        with self._changed:
            self._queue[ticket] = client
            try:
                while not self._changed.wait_for(lambda: self._next() is ticket, LOOK_INTERVAL):
                    if abandoned():
                        raise Abandoned
                self._held[client] += 1
            finally:
                del self._queue[ticket]
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held -= Counter([client])
                for other in [other for other, name in self._queue.items() if name == client]:
                    self._queue[other] = self._queue.pop(other)
                self._changed.notify_all()

    def _next(self) -> object | None:
        """Return the ticket whose turn it is; None if nobody may begin now."""
        if self._held.total() >= self._most:
            return None
        return next((ticket for ticket, client in self._queue.items() if self._held[client] < self._most_of_client), None)
