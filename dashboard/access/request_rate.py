"""Rate limits for clients and players of sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

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
