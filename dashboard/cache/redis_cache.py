"""A cache of bytes in Redis, which workers on several hosts can share."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dashboard.cache.errors import CacheFailure

T = TypeVar("T")
TIMEOUT = 1.0  # seconds to connect, and to wait for a reply
RETRY_AFTER = 10.0  # seconds before Redis is tried again after a failure
TIME_TO_LIVE = 7 * 24 * 3600  # seconds; results of old data versions are never asked for again
KEY_PREFIX = "clueline:"


class RedisCache:
    """Redis behind a circuit breaker. Redis deletes values by age and by its own ``maxmemory-policy``.

    After a failure, Redis is not used for ``RETRY_AFTER`` seconds. Then one thread tries again, while the others still do without
    it. So a Redis server that hangs costs one time-out now and then, not one per request.
    """

    def __init__(self, url: str) -> None:
        # A connection that Redis has closed is reopened once. A time-out is not retried.
        retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
        self._client = redis.Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=retry)
        self._lock = Lock()
        self._failed = False
        self._retry_at = 0.0

    def get(self, name: str) -> bytes | None:
        """Return the bytes stored under a name; None if there are none, or after a recent failure. Raises ``CacheFailure``."""
        value = self._call(lambda: self._client.get(KEY_PREFIX + name))
        return value if isinstance(value, bytes) else None

    def set(self, name: str, value: bytes) -> None:
        """Store bytes under a name. Raises ``CacheFailure``."""
        self._call(lambda: self._client.set(KEY_PREFIX + name, value, ex=TIME_TO_LIVE))

    def _call(self, command: Callable[[], T]) -> T | None:
        if not self._may_try():
            return None
        try:
            result = command()
        except redis.RedisError as error:
            with self._lock:
                self._failed, self._retry_at = True, time.monotonic() + RETRY_AFTER
            raise CacheFailure(str(error)) from error
        self._failed = False
        return result

    def _may_try(self) -> bool:
        if not self._failed:
            return True
        with self._lock:
            if time.monotonic() < self._retry_at:
                return False
            self._retry_at = time.monotonic() + RETRY_AFTER  # the other threads keep waiting
            return True
