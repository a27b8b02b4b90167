"""QueryCache kept by the state of what they rest on: each is computed once, by whichever thread or worker asks first.

Versions of the store and revisions of a dataset are immutable, so that nothing goes stale. What is kept is MessagePack bytes,
never pickles: a cache that somebody else can write to must not be able to run code here.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import msgspec
from cachelib.serializers import BaseSerializer
from flask import Flask
from flask_caching import Cache
from flask_caching.backends import FileSystemCache, RedisCache

T = TypeVar("T")
STRIPES = 64  # locks shared by all keys
THRESHOLD = 2000  # answers kept on disk
SHELF_LIFE = 7 * 24 * 3600  # seconds; old versions' answers are not asked for again


class BytesOnly(BaseSerializer):
    """Serialises bytes and the expiry number that cachelib adds, as they are."""

    def dump(self, value: int | bytes, f: Any, protocol: int | None = None) -> None:
        """Write one value behind its tag."""
        f.write(self.dumps(value))

    def load(self, f: Any) -> Any:
        """Read what ``dump`` wrote."""
        return self.loads(f.read())

    def dumps(self, value: int | bytes, protocol: int | None = None) -> bytes:
        """One value behind its tag."""
        return b"b" + value if isinstance(value, bytes) else b"i" + str(int(value)).encode()

    def loads(self, bvalue: bytes) -> Any:
        """What ``dumps`` made; None for anything else."""
        if bvalue[:1] == b"b":
            return bvalue[1:]
        return int(bvalue[1:]) if bvalue[:1] == b"i" and bvalue[1:].isdigit() else None


class Shelf(FileSystemCache):
    """flask-caching's folder of files, without pickle."""

    serializer = BytesOnly()  # type: ignore[assignment]


class RedisShelf(RedisCache):
    """flask-caching's Redis, without pickle."""

    serializer = BytesOnly()  # type: ignore[assignment]


class QueryCache:
    """A cache of bytes in which each key is computed once."""

    def __init__(self, server: Flask, url: str, folder: Path) -> None:
        config: dict[str, Any] = {"CACHE_DEFAULT_TIMEOUT": SHELF_LIFE}
        if url == "filesystem":
            config |= {"CACHE_TYPE": f"{__name__}.Shelf", "CACHE_DIR": str(folder / "answers"), "CACHE_THRESHOLD": THRESHOLD}
        else:
            config |= {"CACHE_TYPE": f"{__name__}.RedisShelf", "CACHE_REDIS_URL": url, "CACHE_KEY_PREFIX": "clueline:"}
        self._locks = folder / "locks"
        self._locks.mkdir(parents=True, exist_ok=True)
        self._threads = [Lock() for _ in range(STRIPES)]
        self._cache = Cache(server, config=config)

    def get(self, key: str, compute: Callable[[], bytes], read: Callable[[bytes], T]) -> T:
        """What ``read`` makes of the bytes kept under a key, computed where there are none or none that can be read.

        Concurrent askers wait for the one that computes.
        """
        name = hashlib.sha256(key.encode()).hexdigest()
        found = self._kept(name, read)
        if found is None:
            with self._alone(int(name[:8], 16) % STRIPES):
                found = self._kept(name, read)
                if found is None:
                    made = compute()
                    self._cache.set(name, made)
                    found = read(made)
        return found

    def _kept(self, name: str, read: Callable[[bytes], T]) -> T | None:
        kept = self._cache.get(name)
        try:
            return read(kept) if isinstance(kept, bytes) else None
        except msgspec.MsgspecError:
            return None

    @contextmanager
    def _alone(self, stripe: int) -> Iterator[None]:
        """Hold one of the locks: among this process's threads, then among the processes of this host."""
        with self._threads[stripe], (self._locks / str(stripe)).open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
