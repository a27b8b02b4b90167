"""Cache of query results, shared by the workers of a server. The first thread that needs a result computes it.

A key names an immutable version of the data, so results never go stale and are never invalidated. Values are MessagePack bytes,
not pickles, because somebody who can write to the cache must not be able to run code here.

A failing cache only slows the server down: the failure is counted and logged, and the result is computed.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Protocol, TypeVar

import msgspec

from dashboard.cache.computing_queue import LOOK_INTERVAL, Client, ComputingQueue
from dashboard.cache.disk_cache import DiskCache
from dashboard.cache.errors import CacheFailure
from dashboard.process import prometheus
from queries.query_time_limit import Abandoned, TimeLimitExceeded

T = TypeVar("T")
LOCKS = 1024  # shared by all keys; two keys with the same lock wait for each other
TRY_AGAIN = 0.01  # seconds between attempts to get a lock that another process holds
LOG_INTERVAL = 60.0  # seconds between log lines about failures

log = logging.getLogger(__name__)


class Backend(Protocol):
    """A place to store bytes by name."""

    def get(self, name: str) -> bytes | None:
        """Return the bytes stored under a name, or None. Raises ``CacheFailure``."""

    def set(self, name: str, value: bytes) -> None:
        """Store bytes under a name. Raises ``CacheFailure``."""


class QueryCache:
    """A cache of bytes in which each key is computed once.

    Attributes:
        failures: how often this process could not read or write the cache.
        queue: limits how many threads compute or wait for results.
    """

    def __init__(self, url: str, folder: Path, max_bytes: int) -> None:
        """Open the cache.

        Args:
            url: ``filesystem`` or a ``redis://`` address.
            folder: holds the locks between processes and, with ``filesystem``, the results.
            max_bytes: limit on the disk space of the results in the folder.
        """
        self.failures = 0
        self.queue = ComputingQueue()
        self._log_at = 0.0
        self._callers: Counter[str] = Counter()
        self._counting = Lock()
        self._thread_locks = [Lock() for _ in range(LOCKS)]
        self._lock_folder = folder / "locks"
        with suppress(OSError):  # without the folder, each lock fails, and the failure is counted
            self._lock_folder.mkdir(parents=True, exist_ok=True)
        self._backend: Backend = DiskCache(folder / "results", max_bytes) if url == "filesystem" else _redis_cache(url)

    def get(
        self,
        key: str,
        compute: Callable[[], bytes],
        decode: Callable[[bytes], T],
        wait: float = math.inf,
        client: Client = Client(),  # noqa: B008
    ) -> T:
        """Return the decoded value of a key. It is computed if it is not in the cache or cannot be decoded.

        Concurrent callers with the same key wait for the first one to compute it.

        Args:
            key: any text.
            compute: computes the encoded value.
            decode: decodes the value; it may raise ``msgspec.MsgspecError`` for bytes that another version of the code wrote.
            wait: seconds to wait for another caller who computes it, or for a turn to compute it.
            client: who asks for it.

        Raises:
            TimeLimitExceeded: another caller took longer, or no turn came.
            Abandoned: the client has left, and nobody else waits for the result.
            QueueFull: no place is free.
            ClientLimitReached: the client already waits for too many results.
        """
        name = hashlib.sha256(key.encode()).hexdigest()
        result = self._read(name, decode)
        if result is None:
            deadline = time.monotonic() + wait
            with (
                self.queue.place(client, key),
                self._counted(key),
                self._locked(int(name[:8], 16) % LOCKS, deadline, client.left),
            ):
                result = self._read(name, decode)
                if result is None:
                    prometheus.cache_reads.labels("miss").inc()
                    with (
                        self.queue.turn(client, deadline, lambda: client.left() and self.callers(key) <= 1),
                        prometheus.computing.track_inprogress(),
                    ):
                        value = compute()
                    self._write(name, value)
                    return decode(value)
        prometheus.cache_reads.labels("hit").inc()
        return result

    def callers(self, key: str) -> int:
        """Return how many threads of this process wait for the value of a key, including the one that computes it."""
        return self._callers[key]

    @contextmanager
    def _counted(self, key: str) -> Iterator[None]:
        with self._counting:
            self._callers[key] += 1
        try:
            yield
        finally:
            with self._counting:
                self._callers[key] -= 1
                if not self._callers[key]:
                    del self._callers[key]

    def _read(self, name: str, decode: Callable[[bytes], T]) -> T | None:
        try:
            value = self._backend.get(name)
            return None if value is None else decode(value)
        except CacheFailure as failure:
            self._count(failure)
        except msgspec.MsgspecError:
            pass  # the cache works; the value will be replaced
        return None

    def _write(self, name: str, value: bytes) -> None:
        try:
            self._backend.set(name, value)
        except CacheFailure as failure:
            self._count(failure)

    def _count(self, failure: Exception) -> None:
        self.failures += 1
        prometheus.cache_failures.inc()
        if time.monotonic() >= self._log_at:
            self._log_at = time.monotonic() + LOG_INTERVAL
            log.warning("the cache failed, %d times so far; results are computed instead: %s", self.failures, failure)

    @contextmanager
    def _locked(self, index: int, deadline: float, left: Callable[[], bool]) -> Iterator[None]:
        """Hold one of the locks, first among the threads of this process, then among the processes of this host.

        dogpile.cache uses the same ``flock`` between processes, but its file backend never deletes an old result.
        """
        while not self._thread_locks[index].acquire(timeout=max(0.0, min(LOOK_INTERVAL, deadline - time.monotonic()))):
            _check(deadline, left)
        try:
            with self._lock_file(index) as handle:
                while handle and not _try_lock(handle):
                    _check(deadline, left)
                    time.sleep(TRY_AGAIN)
                yield
        finally:
            self._thread_locks[index].release()

    @contextmanager
    def _lock_file(self, index: int) -> Iterator[IO[str] | None]:
        try:
            handle = (self._lock_folder / str(index)).open("a")
        except OSError as error:
            self._count(error)
            yield None
            return
        with handle:
            yield handle


def _check(deadline: float, left: Callable[[], bool]) -> None:
    if time.monotonic() > deadline:
        raise TimeLimitExceeded
    if left():
        raise Abandoned


def _try_lock(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _redis_cache(url: str) -> Backend:
    from dashboard.cache.redis_cache import RedisCache  # imported here because it loads slowly and few servers use it

    return RedisCache(url)
