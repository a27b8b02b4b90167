"""Results of queries, kept by flask-caching on disk or in Redis. Each is computed once, and only a few at a time.

A key names an immutable version of the data, so results never go stale. They are bytes, not pickles, because somebody who can
write to the cache must not be able to run code here.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Condition, Lock
from typing import IO, Any, NamedTuple, TypeVar

import msgspec
from cachelib.serializers import FileSystemSerializer, RedisSerializer
from filelock import FileLock, Timeout
from flask_caching.backends import BaseCache, FileSystemCache, NullCache, RedisCache

from clueline.dashboard.http import prometheus
from clueline.data.store.files import make_folder
from clueline.queries.query_time_limit import Abandoned, TimeLimitExceeded

T = TypeVar("T")
TIME_TO_LIVE = 7 * 24 * 3600  # seconds; results of old data versions are never asked for again
BLOCK = 4096  # bytes
RESULTS_THAT_FIT = 4  # one result may take at most a quarter of the limit
SHARE_KEPT = 0.8  # share of the limit that is left after the least recently used files were removed
MAX_RESERVE = 2**30  # bytes; this or a twentieth of the disk, whichever is less, stays free
REDIS_TIMEOUT = 1.0  # seconds to connect, and to wait for a reply
PAUSE = 10.0  # seconds before a cache that failed is used again
LOG_INTERVAL = 60.0  # seconds between log lines about failures
LOCKS = 1024  # shared by all keys; two keys with the same lock wait for each other
TRY_AGAIN = 0.01  # seconds between attempts to get a lock
PLACES = 100  # threads that may compute or wait, of a worker's 128: the others answer what needs no computing
AT_ONCE = 4  # computations at the same time
AT_ONCE_FOR_CLIENT = 3  # computations at the same time for one client
PLACES_FOR_CLIENT = 8  # different results that one known client may compute or wait for
PLACES_FOR_ADDRESS = 80  # the same for an IP address, which a whole lab may share
RETRY_AFTER = 3  # seconds after which a refused client may try again
LOOK_INTERVAL = 0.25  # seconds between checks whether the client is still there

log = logging.getLogger(__name__)


class QueueFull(Exception):
    """Every place is taken."""


class ClientLimitReached(Exception):
    """The client already waits for as many results as it may."""


class Client(NamedTuple):
    """Who asks for a result: a name, blank for this program itself, which has no limit, and whether it has left.

    A ``shared`` client is an IP address of which nothing else is known, so several people may be behind it.
    """

    name: str = ""
    shared: bool = False
    left: Callable[[], bool] = lambda: False

    @property
    def places(self) -> int:
        return PLACES_FOR_ADDRESS if self.shared else PLACES_FOR_CLIENT


SELF = Client()


class Bytes(FileSystemSerializer, RedisSerializer):
    """Bytes after their checksum. What is damaged, or was stored by something else, counts as absent."""

    def dumps(self, value: bytes, protocol: int = 0) -> bytes:
        return zlib.crc32(value).to_bytes(4) + value

    def loads(self, bvalue: bytes | None) -> bytes | None:
        return bvalue[4:] if bvalue and zlib.crc32(bvalue[4:]).to_bytes(4) == bvalue[:4] else None

    def dump(self, value: Any, f: IO[bytes], protocol: int = 0) -> None:
        f.write(self.dumps(value))

    def load(self, f: IO[bytes]) -> bytes | None:
        return self.loads(f.read())


class FileCache(FileSystemCache):
    """Files within a limit in bytes. The least recently used make room for new ones."""

    serializer = Bytes()

    def __init__(self, folder: Path, max_bytes: int, processes: int) -> None:
        super().__init__(str(folder), threshold=0, default_timeout=TIME_TO_LIVE)
        self._folder, self._max_bytes = folder, max_bytes
        self._share = max_bytes * (1 - SHARE_KEPT) / (processes + 1)  # written by each process before it counts again
        self._written, self._counting = 0.0, Lock()
        folder.chmod(0o700)
        self._make_room(0)

    def get(self, key: str) -> Any:
        value = super().get(key)
        if value is not None:
            with suppress(OSError):
                os.utime(self._folder / sha256(key.encode()).hexdigest())  # now the most recently used
        return value

    def set(self, key: str, value: bytes, timeout: Any = None, mgmt_element: bool = False) -> bool:
        size = _disk_size(len(value))
        if size * RESULTS_THAT_FIT > self._max_bytes:
            return True
        with self._counting:
            self._written += size
            if self._written > self._share or self._free() < size:
                self._make_room(size)
        return self._free() < size or super().set(key, value, timeout)

    def _free(self) -> int:
        disk = shutil.disk_usage(self._folder)
        return disk.free - min(MAX_RESERVE, disk.total // 20)

    def _make_room(self, size: int) -> None:
        """Remove expired and unfinished files, then the least recently used ones, until a file of this size fits."""
        now, files = time.time(), []
        for entry in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another process has removed it
                state = entry.stat()
                age = now - state.st_mtime
                if age > TIME_TO_LIVE or (age > 60 and len(entry.name) != 64):
                    os.unlink(entry.path)
                else:
                    files.append((state.st_mtime, _disk_size(state.st_size), entry.path))
        total = sum(taken for _, taken, _ in files)
        limit = min(self._max_bytes * SHARE_KEPT, total + self._free()) - size
        for _, taken, path in sorted(files):
            if total > limit:
                Path(path).unlink(missing_ok=True)
                total -= taken
        self._written = size


def _disk_size(size: int) -> int:
    return (size // BLOCK + 2) * BLOCK  # whole blocks, and one for the entry in the folder


def _redis_cache(url: str) -> RedisCache:
    """Return a cache in Redis, with short time-outs, and one retry on a connection that Redis has closed."""
    from redis import ConnectionError, Redis  # imported here because it loads slowly and few servers use it
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    retry = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    client = Redis.from_url(url, socket_timeout=REDIS_TIMEOUT, socket_connect_timeout=REDIS_TIMEOUT, retry=retry)
    cache = RedisCache(client, default_timeout=TIME_TO_LIVE, key_prefix="clueline:")
    cache.serializer = Bytes()
    return cache


class ResultCache:
    """Results by key. The first thread that needs one computes it; others wait for it, also in other processes.

    The cache is at a ``redis://`` address or, for the address ``filesystem``, in a folder that processes share. The folder also
    holds their locks. ``max_bytes`` limits the disk space of its results. ``failures`` counts how often this process could not
    read or write the cache. ``queue`` has the threads that wait to compute, in the order of arrival, with the names of clients.
    """

    def __init__(self, url: str, folder: Path, max_bytes: int, processes: int = 1) -> None:
        self.failures = 0
        self._log_at = self._paused_until = 0.0
        self._waiting: Counter[tuple[str, str]] = Counter()  # threads by client and key
        self.queue: dict[object, str] = {}
        self._computing: Counter[str] = Counter()  # threads by client
        self._changed, self._trying = Condition(), Lock()
        self._locks, self._held = folder / "locks", set[int]()
        with suppress(OSError):  # without the folder, each lock fails, and the failure is counted
            make_folder(self._locks)
        try:
            self._cache: BaseCache = (
                FileCache(folder / "results", max_bytes, processes) if url == "filesystem" else _redis_cache(url)
            )
        except OSError as error:  # the folder cannot be made
            self._count(error)
            self._cache = NullCache()

    def get(
        self, key: str, compute: Callable[[], bytes], decode: Callable[[bytes], T], wait: float = math.inf, client: Client = SELF
    ) -> T:
        """Return the decoded value of a key, computed if it is absent or ``decode`` raises ``msgspec.MsgspecError``.

        Raises:
            TimeLimitExceeded: it took longer than ``wait`` seconds until somebody else had computed it, or this thread may.
            Abandoned: the client has left, and nobody else waits for the result.
            QueueFull, ClientLimitReached: see ``place``.
        """
        name, deadline = sha256(key.encode()).hexdigest(), time.monotonic() + wait
        result = self._read(name, decode)
        if result is None:
            with self.place(client, key), self._alone(name, deadline, client.left):
                if (result := self._read(name, decode)) is None:
                    prometheus.cache_reads.labels("miss").inc()
                    with self.turn(client, deadline, lambda: client.left() and self.callers(key) <= 1):
                        value = compute()
                    self._use(lambda: self._cache.set(name, value))
                    return decode(value)
        prometheus.cache_reads.labels("hit").inc()
        return result

    def keep(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the value of a key, made if it is absent, without a turn: ``make`` asks for results, which wait for theirs."""
        name = sha256(key.encode()).hexdigest()
        value = self._read(name, bytes)
        prometheus.cache_reads.labels("miss" if value is None else "hit").inc()
        if value is None:
            value = make()
            self._use(lambda: self._cache.set(name, value))
        return value

    def callers(self, key: str) -> int:
        """Return how many threads of this process wait for the value of a key, including the one that computes it."""
        with self._changed:
            return sum(threads for (_, waited), threads in self._waiting.items() if waited == key)

    @contextmanager
    def place(self, client: Client, key: str) -> Iterator[None]:
        """Hold a place while a result is computed or waited for. Keys for which a client already waits count once.

        Raises ``QueueFull`` or ``ClientLimitReached``.
        """
        with self._changed:
            keys = {waited for name, waited in self._waiting if name == client.name}
            if client.name and key not in keys and len(keys) >= client.places:
                raise ClientLimitReached
            if client.name and self._waiting.total() >= PLACES:
                raise QueueFull
            self._waiting[client.name, key] += 1
        try:
            yield
        finally:
            with self._changed:
                self._waiting -= Counter([(client.name, key)])

    @contextmanager
    def turn(self, client: Client, deadline: float, abandoned: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn to compute until a time of ``time.monotonic``, and hold it. Who has waited longest is next.

        Raises ``TimeLimitExceeded`` or ``Abandoned``.
        """
        ticket = object()
        with self._changed:
            self.queue[ticket] = client.name
            try:
                self._wait(lambda: self._next() is ticket, deadline, abandoned)
                self._computing[client.name] += 1
            finally:
                del self.queue[ticket]
                self._changed.notify_all()
        try:
            with prometheus.computing.track_inprogress():
                yield
        finally:
            with self._changed:
                self._computing -= Counter([client.name])
                self._changed.notify_all()

    def _next(self) -> object | None:
        """Return whose turn it is; None if nobody may compute now. A client with too many computations is passed over."""
        if self._computing.total() >= AT_ONCE:
            return None
        allowed = (ticket for ticket, name in self.queue.items() if not name or self._computing[name] < AT_ONCE_FOR_CLIENT)
        return next(allowed, None)

    def _wait(self, ready: Callable[[], bool], deadline: float, abandoned: Callable[[], bool]) -> None:
        while not self._changed.wait_for(ready, LOOK_INTERVAL):
            if abandoned():
                raise Abandoned
            if time.monotonic() > deadline:
                raise TimeLimitExceeded

    def _read(self, name: str, decode: Callable[[bytes], T]) -> T | None:
        value = self._use(lambda: self._cache.get(name))
        with suppress(msgspec.MsgspecError):  # the cache works; the value will be replaced
            return None if value is None else decode(value)
        return None

    def _use(self, command: Callable[[], Any]) -> Any:
        """Read or write the cache, unless it failed a moment ago: one that hangs must not cost every request a time-out."""
        with self._trying:
            now = time.monotonic()
            if now < self._paused_until:
                return None
            if self._paused_until:
                self._paused_until = now + PAUSE  # one thread tries again; the others go on without
        try:
            if (result := command()) is False:
                raise OSError("a result cannot be stored")
        except Exception as error:  # whatever the backend raises
            self._paused_until = time.monotonic() + PAUSE
            self._count(error)
            return None
        self._paused_until = 0.0
        return result

    def _count(self, failure: Exception) -> None:
        self.failures += 1
        prometheus.cache_failures.inc()
        if time.monotonic() >= self._log_at:
            self._log_at = time.monotonic() + LOG_INTERVAL
            log.warning("the cache failed, %d times so far; results are computed instead: %s", self.failures, failure)

    @contextmanager
    def _alone(self, name: str, deadline: float, left: Callable[[], bool]) -> Iterator[None]:
        """Hold a lock that excludes all other threads of this host. Raises ``TimeLimitExceeded`` or ``Abandoned``.

        A lock between processes can only be tried again and again, so one thread of each process does.
        """
        number = int(name[:8], 16) % LOCKS
        between_processes = FileLock(self._locks / str(number), thread_local=False)
        with self._changed:
            self._wait(lambda: number not in self._held, deadline, left)
            self._held.add(number)
        try:
            try:
                between_processes.acquire(max(0.0, deadline - time.monotonic()), TRY_AGAIN, cancel_check=left)
            except Timeout:
                raise (Abandoned if left() else TimeLimitExceeded) from None
            except OSError as error:
                self._count(error)
            yield
        finally:
            between_processes.release()
            with self._changed:
                self._held.remove(number)
                self._changed.notify_all()
