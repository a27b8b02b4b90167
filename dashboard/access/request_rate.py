"""How many requests a second one client or player may make, where each of them writes to the disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

MAX_KEYS = 10_000  # keys, before those that made no request for a while are forgotten


class RequestRate:
    """A limit for each of many keys: some requests at once, and so many a second after them (a token bucket).

    Args:
        per_second: requests that a key may make for ever.
        burst: further ones that it may make after a pause.
        clock: seconds, ascending.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._burst, self._clock = 1 / per_second, burst, clock
        self._due: dict[str, float] = {}  # by key, when its next request would be due if they came evenly
        self._lock = Lock()

    def takes(self, key: str) -> bool:
        """Whether a request of a key may be made now; if so, it counts.

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
        """How many keys are remembered."""
        return len(self._due)
