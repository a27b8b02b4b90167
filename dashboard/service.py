"""What pages and JSON addresses ask: the queries, over the store's current version, through the cache."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, TypeVar, get_type_hints

import msgspec
from flask import Flask, current_app

import data
import queries
from dashboard.query_cache import QueryCache
from dashboard.settings import Settings
from dashboard.uploads.access import Access
from dashboard.uploads.import_process import Job, Outcome, in_child
from dashboard.uploads.token_throttle import TokenThrottle
from data.store.generations import Snapshot, StoreError, open_store
from data.tokens import Tokens
from queries.datasets import Dataset, counts
from queries.metrics import Metric
from queries.selection import Facets, Selection, facets, parse

T = TypeVar("T")
EXTENSION = "clueline"
UPLOADS_AT_ONCE = 3  # of a worker, whose other threads are for readers


class Service:
    """The store of one server, read through a cache that its workers share."""

    def __init__(self, server: Flask, settings: Settings) -> None:
        self.settings = settings
        self.store = open_store(settings.store, threads=max(1, 4 // settings.workers), room=settings.memory_mb * 2**20)
        with suppress(StoreError):  # each request says so
            self.store.version()  # from now on, a folder that is gone is not taken for a new store
        folder = _cache_folder(self.store.folder)
        self._answers = QueryCache(server, settings.cache, folder)
        self.access = Access(settings, Tokens(self.store.folder), TokenThrottle(folder))
        self.uploading = BoundedSemaphore(UPLOADS_AT_ONCE)
        self.import_file: Callable[[Job, Path], Outcome] = in_child
        server.extensions[EXTENSION] = self

    def snapshot(self) -> Snapshot:
        """The store as it is now."""
        return self.store.snapshot()

    def ask(self, query: Callable[..., T], *arguments: Any) -> T:
        """The answer of ``query(snapshot, *arguments)``, a struct.

        It is kept for as long as the dataset of its selection, the first argument, stays as it is, or else the whole store.
        """
        dataset = arguments[0].dataset if arguments and isinstance(arguments[0], Selection) else None
        return self._ask(self.snapshot(), dataset, query, *arguments)

    def _ask(self, snapshot: Snapshot, dataset: str | None, query: Callable[..., T], *arguments: Any) -> T:
        """The answer of a query, kept by the revision of the dataset that it rests on or, without one, by the store's version."""
        known = snapshot.states.get(dataset or "")
        state = known.revision if known else snapshot.version
        returns = get_type_hints(query)["return"]
        said = msgspec.json.encode([_code(), state, f"{query.__module__}.{query.__qualname__}", _plain(arguments)])
        found = self._answers.get(
            said.decode(),
            lambda: msgspec.msgpack.encode(query(snapshot, *arguments)),
            lambda kept: msgspec.msgpack.decode(kept, type=returns),
        )
        if hasattr(found, "data_version"):
            found.data_version = snapshot.version  # it may have been kept under an earlier one, and is true of this
        return found

    def facets(self, dataset: str | None) -> Facets:
        """What a dataset offers."""
        snapshot = self.snapshot()
        return self._ask(snapshot, next(iter(snapshot.states), None) if dataset is None else dataset, facets, dataset)

    def datasets(self) -> list[Dataset]:
        """Every dataset, in order of import."""
        snapshot = self.snapshot()
        return [self._ask(snapshot, name, counts, name) for name in snapshot.states]

    def parse(
        self, query: Iterable[tuple[str, str]], also: Sequence[str] = (), dataset: str | None = None
    ) -> tuple[Selection, Facets, dict[str, list[str]]]:
        """Read a query string; see ``queries.selection.parse``."""
        return parse(query, self.facets, also, dataset)


def service() -> Service:
    """The service of the server that handles this request."""
    return current_app.extensions[EXTENSION]


@cache
def _code() -> str:
    """Hash of the code that answers: what another version of it has kept is not asked for."""
    modules = sorted(path for package in (data, queries) for path in Path(package.__path__[0]).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()


def _plain(argument: Any) -> Any:
    """An argument of a query as a cache key has it: a metric is its key."""
    if isinstance(argument, tuple | list):
        return [_plain(part) for part in argument]
    return argument.key if isinstance(argument, Metric) else argument


def _cache_folder(store: Path) -> Path:
    """A folder in the store or, where the store cannot be written, one that lasts as long as the server."""
    folder = store / "cache"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="clueline-cache-"))
