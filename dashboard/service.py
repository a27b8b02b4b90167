"""The service of one server: its store, read through the query cache, and who may read and write."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import BinaryIO, TypeVar, cast, get_type_hints

import duckdb
import msgspec
from flask import Flask, current_app, g, has_request_context, request

import data
import queries
from dashboard.access.identity_and_rights import Access
from dashboard.cache.computing_queue import (
    PLACES_FOR_CLIENT,
    RETRY_AFTER,
    Client,
    ClientLimitReached,
    QueueFull,
    client_address,
)
from dashboard.cache.query_cache import QueryCache
from dashboard.settings import Settings, variable
from dashboard.uploads.import_process import ImportJob, ImportOutcome, ImportProcesses
from data.store import Snapshot, StoreError, open_store
from data.store.background_checksums import VersionCheck
from data.store.errors import UnreadableStore
from data.store.export import Form, Table, export, exporter
from data.store.tokens_and_readers import Tokens
from queries.datasets import Dataset, describe_dataset
from queries.metrics import Metric
from queries.query_time_limit import Abandoned, TimeLimitExceeded, time_limit
from queries.selection import Request, Selection, read_address, read_facets
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest
from queries.selection.parameters import P
from queries.selection.reference_people import with_people

T = TypeVar("T")
EXTENSION = "clueline"  # the key of the service in ``Flask.extensions``
MAX_UPLOADS = 8  # that one worker receives or imports at once; its other threads serve readers

log = logging.getLogger(__name__)


class Service:
    """What pages and JSON addresses share.

    Attributes:
        settings: of the server.
        store: the store.
        version_check: finds damaged files of the version in force.
        cache: results of queries.
        access: decides who may read and write.
        upload_slots: one for each upload that a worker receives or imports at once.
        draining: this process was told to end, and should be sent no more requests.
        import_processes: start a process for each import.
        import_file: reads an uploaded file; tests may replace it to stay in their process.
    """

    def __init__(self, server: Flask, settings: Settings) -> None:
        self.settings = settings
        self.store = open_store(settings.store, threads=max(1, 4 // settings.workers), capacity=settings.memory_mb * 2**20)
        with suppress(StoreError):  # every request will report it
            self.store.latest()  # from now on, a folder that disappears is not taken for a new store
        self.version_check = VersionCheck(self.store.objects)
        self.cache = QueryCache(settings.cache, _cache_folder(self.store.local), settings.cache_mb * 2**20)
        self.access = Access(settings, Tokens(self.store.register))
        self.upload_slots = BoundedSemaphore(MAX_UPLOADS)
        self.draining = False
        self.import_processes = ImportProcesses()
        self.import_file: Callable[[ImportJob], ImportOutcome] = self._import_file
        server.extensions[EXTENSION] = self

    def _import_file(self, job: ImportJob) -> ImportOutcome:
        return self.import_processes.run(job, client_watcher())

    def snapshot(self) -> Snapshot:
        """The version of the store that this request reads: the one in force when it first asked, without the datasets that its
        reader may not read. Outside a request, all of the current one.

        So whatever is imported meanwhile, all parts of an answer belong together.

        Raises:
            Denied: the reader may read nothing.
            StoreError: the store is damaged or cannot be read.
        """
        if not has_request_context():
            return self.store.snapshot()
        if "snapshot" not in g:
            g.snapshot = self._readable(self.store.snapshot())
        return cast("Snapshot", g.snapshot)

    def _readable(self, snapshot: Snapshot) -> Snapshot:
        return snapshot.without(self.access.hidden(snapshot.states))

    def read_revision(self, revision: str) -> None:
        """Let this request read a version in which a dataset has this revision, if it is still kept; else the current one."""
        g.snapshot = self._readable(self.store.snapshot_at(revision) or self.store.snapshot())

    def read_only(self, dataset: str) -> None:
        """Let this request, which a secret of a session lets in, read this dataset alone, whatever else its reader may read."""
        snapshot = self.store.snapshot()
        g.snapshot = snapshot.without([name for name in snapshot.states if name != dataset])

    def read_current(self) -> None:
        """Let this request, which has changed the store or taken long, read the current version from now on."""
        g.pop("snapshot", None)

    def revision(self, dataset: str) -> str:
        """The revision of a dataset in the version that this request reads; blank if it is not there."""
        state = self.snapshot().states.get(dataset)
        return state.revision if state else ""

    def data_version(self) -> str:
        """The version in force, blank where the store cannot be read."""
        try:
            return self.store.latest().version
        except StoreError:
            return ""

    def ask(self, query: Callable[..., T], *arguments: object) -> T:
        """The result of ``query(snapshot, *arguments)``, through the cache.

        Args:
            query: a function of a module of ``queries`` that returns a struct.
            arguments: beside the snapshot. If the first one is a selection, the result is valid until its dataset changes;
                else until the store does.

        Raises:
            BadRequest: with status 503 where it takes too long.
            StoreError: the store is damaged or cannot be read.
        """
        dataset = arguments[0].dataset if arguments and isinstance(arguments[0], Selection) else None
        return self._ask(self.snapshot(), dataset, query, *arguments)

    def _ask(self, snapshot: Snapshot, dataset: str | None, query: Callable[..., T], *arguments: object) -> T:
        state = snapshot.states.get(dataset or "")
        revision = state.revision if state else snapshot.version
        result_type = get_type_hints(query)["return"]
        name = f"{query.__module__}.{query.__qualname__}"
        hidden = [] if state else sorted(snapshot.hidden)  # what holds for a dataset holds for all who read it
        key = msgspec.json.encode([_code(), revision, name, _key_of(arguments), hidden]).decode()
        seconds, client = self.settings.query_seconds, current_client()

        def abandoned() -> bool:
            return client.left() and self.cache.callers(key) <= 1

        def compute() -> bytes:
            measured = _with_people(snapshot, arguments)
            with time_limit(seconds, measured.connection.interrupt, abandoned):
                return msgspec.msgpack.encode(query(measured, *arguments))

        def decode(value: bytes) -> T:
            return cast("T", msgspec.msgpack.decode(value, type=result_type))

        with self._refusals(query):
            result = self.cache.get(key, compute, decode, seconds, client)
        if hasattr(result, "data_version"):
            result.data_version = snapshot.version  # the result may be older, but holds for this version too
        return result

    @contextmanager
    def _refusals(self, query: Callable[..., object]) -> Iterator[None]:
        """Errors of a computation as those of a request."""
        name, seconds = f"{query.__module__}.{query.__qualname__}", self.settings.query_seconds
        try:
            yield
        except Abandoned:
            log.info("%s was ended: its client has left", name)
            raise BadRequest("client_left", "The client has left.", status=499) from None  # nobody reads this
        except TimeLimitExceeded:
            log.warning("%s was ended after %d seconds", name, seconds)
            raise _timeout(seconds) from None
        except (duckdb.IOException, duckdb.FatalException) as error:
            log.error("%s cannot read the store: %s", name, error)  # names files of this host
            raise UnreadableStore("A file of the store cannot be read.") from error
        except QueueFull:
            log.warning("%s was refused: the queue is full", name)
            raise BadRequest(
                "busy",
                "The server computes answers for others, and as many wait as may. Try again in a moment.",
                status=503,
                retry_after=RETRY_AFTER,
            ) from None
        except ClientLimitReached:
            log.info("%s was refused: its client waits for %d answers", name, PLACES_FOR_CLIENT)
            raise BadRequest(
                "too_many_at_once",
                f"{PLACES_FOR_CLIENT} answers are being computed for your address, the most at once. Try again soon.",
                status=429,
                retry_after=RETRY_AFTER,
            ) from None

    def compute(self, query: Callable[..., T], *arguments: object) -> T:
        """The result of ``query(snapshot, *arguments)``, without the cache: for files, which are asked for once.

        Raises:
            BadRequest: with status 503 where it takes too long, or where too many wait.
        """
        snapshot, client = self.snapshot(), current_client()
        with self._turn(query, client, f"{query.__qualname__} {id(arguments)}"):
            measured = _with_people(snapshot, arguments)
            with time_limit(self.settings.query_seconds, measured.connection.interrupt, client.left):
                return query(measured, *arguments)

    def compute_alone(self, function: Callable[..., T], *arguments: object) -> T:
        """The result of a function that reads nothing of the store, in turn with queries. Its arguments must bound its work.

        Raises:
            BadRequest: where too many wait.
        """
        with self._turn(function, current_client(), f"{function.__qualname__} {id(arguments)}"):
            return function(*arguments)

    def export(self, table: Table, form: Form) -> BinaryIO:
        """The rows of a table as a file, open for reading. Its space on the disk is free once it is closed.

        Raises:
            BadRequest: as ``compute``.
            StoreError: the store cannot be read or the disk for temporary files is full.
        """
        client = current_client()
        with (
            self._turn(export, client, f"export {id(table)}"),
            exporter(self.store) as opened,
            time_limit(self.settings.query_seconds, opened.snapshot.connection.interrupt, client.left),
        ):
            return opened.file(table, form)

    @contextmanager
    def _turn(self, query: Callable[..., object], client: Client, name: str) -> Iterator[None]:
        """Wait until a client may compute what is not cached."""
        queue, until = self.cache.queue, time.monotonic() + self.settings.query_seconds
        with self._refusals(query), queue.place(client, name), queue.turn(client, until, client.left):
            yield

    def stream(self, query: Callable[..., Iterator[T]], *arguments: object) -> Iterator[T]:
        """The parts of ``query(snapshot, *arguments)``, each made when it is asked for, but the first one at once.

        Raises:
            BadRequest: with status 503 where the first part takes too long. Where a later one does, the stream ends early.
        """
        # The request is over when later parts are made: what they need of it is kept.
        snapshot, client_left = _with_people(self.snapshot(), arguments), client_watcher()
        parts = query(snapshot, *arguments)
        with self._limited(query, snapshot, client_left):
            first = list(itertools.islice(parts, 1))

        def following() -> Iterator[T]:
            yield from first
            while True:
                with self._limited(query, snapshot, client_left):
                    part = list(itertools.islice(parts, 1))
                if not part:
                    return
                yield part[0]

        return following()

    @contextmanager
    def _limited(self, query: Callable[..., object], snapshot: Snapshot, client_left: Callable[[], bool]) -> Iterator[None]:
        """End what is not cached after as long as any query, and when its client has left."""
        with self._refusals(query), time_limit(self.settings.query_seconds, snapshot.connection.interrupt, client_left):
            yield

    def facets(self, dataset: str | None) -> Facets:
        """The filter values of a dataset; of the first one without a name."""
        snapshot = self.snapshot()
        return self._ask(snapshot, next(iter(snapshot.states), None) if dataset is None else dataset, read_facets, dataset)

    def datasets(self) -> list[Dataset]:
        """Every dataset, in order of import."""
        snapshot = self.snapshot()
        return [self._ask(snapshot, name, describe_dataset, name) for name in snapshot.states]

    def read(
        self, query: Iterable[tuple[str, str]], parameters: type[P], dataset: str | None = None, ignore_unknown: bool = False
    ) -> Request[P]:
        """Read a query string.

        Args:
            query: keys and values, as they come.
            parameters: the struct of the view's own keys.
            dataset: where the path names it.
            ignore_unknown: leave unknown keys out instead of refusing them.

        Raises:
            BadRequest: for an unknown key or value, naming what is allowed.
        """
        return read_address(query, self.facets, parameters, dataset, ignore_unknown)


def _with_people(snapshot: Snapshot, arguments: Sequence[object]) -> Snapshot:
    """The snapshot with the people of the selection that a query is asked about, if it is."""
    if not arguments or not isinstance(arguments[0], Selection):
        return snapshot
    return with_people(snapshot, arguments[0].dataset, arguments[0].people)


def current_client() -> Client:
    """Who asks: the client of this request or, outside a request, this program itself."""
    if not has_request_context():
        return Client()
    return Client(client_address(request.remote_addr), client_watcher())


def client_watcher() -> Callable[[], bool]:
    """Whether the client of this request has closed its connection, to be called in any thread; never, outside a server."""
    connection: socket.socket | None = request.environ.get("gunicorn.socket") if has_request_context() else None

    def client_left() -> bool:
        if connection is None:
            return False
        try:
            return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:  # it says nothing, and waits
            return False
        except OSError:
            return True

    return client_left


def service() -> Service:
    """The service of the server that handles this request."""
    return cast("Service", current_app.extensions[EXTENSION])


def _timeout(seconds: int) -> BadRequest:
    limit = f"{seconds} seconds, the most that this server allows ({variable('query_seconds')})"
    return BadRequest(
        "query_timeout",
        f"This was not computed within {limit}. Choose fewer runs, questions or metrics, leave intervals out, or try again when "
        "the server is less busy.",
        status=503,
    )


@cache
def _code() -> str:
    """Hash of the code behind the results: results of another version of the code are not used."""
    modules = sorted(path for package in (data, queries) for path in Path(package.__path__[0]).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()


def _key_of(argument: object) -> object:
    """An argument of a query as part of a cache key: a metric is replaced by its key."""
    if isinstance(argument, tuple | list):
        return [_key_of(part) for part in argument]
    return argument.key if isinstance(argument, Metric) else argument


def _cache_folder(store: Path) -> Path:
    """A folder in the store or, where the store is read-only, one for temporary files, which all workers share."""
    folder = store / "cache"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        name = f"clueline-cache-{os.geteuid()}-{hashlib.sha256(bytes(store)).hexdigest()[:16]}"
        folder = Path(tempfile.gettempdir()) / name
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077:
            return folder
    return Path(tempfile.mkdtemp(prefix="clueline-cache-"))  # somebody else has put something there
