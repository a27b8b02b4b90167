"""The service of one server: its store, the query cache, and access control."""

from __future__ import annotations

import hashlib
import itertools
import logging
import math
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, TypeVar, cast, get_type_hints
from urllib.parse import urlsplit

import duckdb
import msgspec
from flask import Flask, current_app, g, has_request_context, request

from clueline import dashboard, data, queries
from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.access.request_rate import Places
from clueline.dashboard.access.rights import Access, is_loopback
from clueline.dashboard.access.trusted_proxies import client_address
from clueline.dashboard.cache import RETRY_AFTER, Client, ClientLimitReached, QueueFull, ResultCache
from clueline.dashboard.http.paths import SELECTION, is_long, remember_selection, shortened
from clueline.dashboard.settings import Settings, environment_variable
from clueline.dashboard.uploads.import_process import ImportJob, ImportOutcome, ImportProcesses
from clueline.data.plurals import counted
from clueline.data.store import Snapshot, StoreError, open_store
from clueline.data.store.background_checksums import VersionCheck
from clueline.data.store.errors import UnreadableStore
from clueline.data.store.files import make_folder
from clueline.data.store.kinds import expire_kinds
from clueline.data.store.query_to_file import Form, Table, export, exporter
from clueline.data.store.stored_selections import find_selection, keep_selection, selection_id
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.datasets import Dataset, describe_dataset
from clueline.queries.metrics import Metric
from clueline.queries.query_time_limit import Abandoned, TimeLimitExceeded, time_limit
from clueline.queries.selection import Request, Selection, read_address, read_facets
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import MAX_VALUE_LENGTH, BadRequest
from clueline.queries.selection.reference_people import with_people
from clueline.queries.selection.view_parameters_base import P

T = TypeVar("T")
EXTENSION = "clueline"  # the key of the service in ``Flask.extensions``
BETWEEN_EXPIRIES = 86_400.0  # seconds
MAX_UPLOADS = 8  # uploads that one worker receives or imports at once; its other threads serve readers
MAX_UPLOADS_OF_CLIENT = 4  # so that one who sends slowly shuts out nobody

log = logging.getLogger(__name__)


class Service:
    """What pages and JSON addresses share.

    ``version_check`` finds damaged files of the current version. ``upload_slots`` limits the uploads that a worker receives or
    imports at once. While ``draining``, this process should get no more requests. Tests can replace ``import_file`` to import in
    their process.
    """

    def __init__(self, server: Flask, settings: Settings) -> None:
        self.settings = settings
        self.store = open_store(settings.store, threads=max(1, 4 // settings.workers), capacity=settings.memory_mb * 2**20)
        with suppress(StoreError):  # every request will report it
            self.store.latest()  # from now on, a folder that disappears is not treated as a new store
        self.version_check = VersionCheck(self.store.objects)
        self.cache = ResultCache(settings.cache, _cache_folder(self.store.local), settings.cache_mb * 2**20, settings.workers)
        self.access = Access(settings, Tokens(self.store.register))
        self.upload_slots = Places(MAX_UPLOADS, MAX_UPLOADS_OF_CLIENT)
        self.draining = False
        self._expired_at = -math.inf
        # By query and dataset, with its revision.
        self._recalled: dict[tuple[Callable[..., object], str], tuple[str, object]] = {}
        self.import_processes = ImportProcesses()
        self.import_file: Callable[[ImportJob], ImportOutcome] = self._import_in_turn
        server.extensions[EXTENSION] = self

    def _import_in_turn(self, job: ImportJob) -> ImportOutcome:
        client = current_client()
        return self.import_processes.run(job, client.name, client.left)

    def snapshot(self) -> Snapshot:
        """Return the version of the store that this request reads, without datasets that its reader may not read.

        It is the version that was current when the request first called this. So all parts of a response belong together, even if
        something is imported in the meantime. Outside a request it is the current version with all datasets. Raises ``Denied`` if
        the reader may read nothing, and ``StoreError`` if the store is damaged or cannot be read.
        """
        if not has_request_context():
            return self.store.snapshot()
        if "snapshot" not in g:
            g.snapshot = self._readable(self.store.snapshot())
        return cast("Snapshot", g.snapshot)

    def _readable(self, snapshot: Snapshot) -> Snapshot:
        self.access.read_record_again()  # what became private before this version was published is private in it
        return snapshot.without(self.access.hidden(snapshot.states))

    def read_revision(self, revision: str) -> None:
        """Let this request read a version in which a dataset has this revision or, if there is none left, the current one."""
        g.snapshot = self._readable(self.store.snapshot_at(revision) or self.store.snapshot())

    def read_only(self, dataset: str) -> None:
        """Let this request, which has the secret of a session, read only this dataset, whatever else its reader may read."""
        snapshot = self.store.snapshot()
        g.snapshot = snapshot.without([name for name in snapshot.states if name != dataset])

    def read_current(self) -> None:
        """Let this request, which changed the store or took long, read the current version from now on."""
        g.pop("snapshot", None)

    def revision(self, dataset: str) -> str:
        """Return the revision of a dataset in the version that this request reads; blank if it is not there."""
        state = self.snapshot().states.get(dataset)
        return state.revision if state else ""

    def url(self) -> str:
        """Return the address by which people reach this server, without a slash at the end; blank if nothing says so."""
        return self.settings.url or (request.host_url.rstrip("/") if has_request_context() else "")

    def shared_url(self) -> str:
        """Return the address by which others reach this server; blank if it is unknown, or only that of their own machine."""
        return "" if is_loopback(urlsplit(self.url()).hostname or "localhost") else self.url()

    def data_version(self) -> str:
        """Return the current data version; blank if the store cannot be read."""
        try:
            return self.store.latest().version
        except StoreError:
            return ""

    def ask(self, query: Callable[..., T], *arguments: object) -> T:
        """Return the result of ``query(snapshot, *arguments)``, from the cache if possible.

        ``query`` is a function of a module of ``queries`` that returns a struct. If the first argument is a selection, the result
        is valid until its dataset changes, otherwise until the store changes.

        Raises ``BadRequest`` with status 503 if it takes too long, and ``StoreError`` if the store is damaged or cannot be read.
        """
        dataset = arguments[0].dataset if arguments and isinstance(arguments[0], Selection) else None
        return self._ask(self.snapshot(), dataset, query, *arguments)

    def drawn(self, dataset: str, path: str, pairs: Sequence[tuple[str, str]], draw: Callable[[], bytes]) -> bytes:
        """Return what ``draw`` makes of results for a dataset at an address, from the cache if possible.

        It may depend on the address, the dataset, the settings, the server's address and the mode of the reader's pages. It is
        drawn anew for whoever came by a signed link, which signs the addresses in it.
        """
        if self.access.reader().link is not None:
            return draw()
        snapshot = self.snapshot()
        reader = [self.access.page_mode(), sorted(snapshot.hidden), self.url()]
        code, revision = _code(data, queries, dashboard), self.revision(dataset) or snapshot.version
        key = msgspec.json.encode([code, revision, "drawn", path, pairs, reader, self.settings])
        return self.cache.keep(key.decode(), draw)

    def _ask(self, snapshot: Snapshot, dataset: str | None, query: Callable[..., T], *arguments: object) -> T:
        state = snapshot.states.get(dataset or "")
        revision = state.revision if state else snapshot.version
        result_type = get_type_hints(query)["return"]
        name = f"{query.__module__}.{query.__qualname__}"
        hidden = [] if state else sorted(snapshot.hidden)  # results for one dataset are the same for all its readers
        key = msgspec.json.encode([_code(data, queries), revision, name, _key_of(arguments), hidden]).decode()
        seconds, client = self.settings.query_seconds, current_client()

        def abandoned() -> bool:
            return client.left() and self.cache.callers(key) <= 1

        def compute() -> bytes:
            measured = _with_people(snapshot, arguments)
            with time_limit(seconds, measured.connection.interrupt, abandoned):
                return msgspec.msgpack.encode(query(measured, *arguments))

        def decode(value: bytes) -> T:
            return cast("T", msgspec.msgpack.decode(value, type=result_type))

        with self._as_request_errors(query):
            result = self.cache.get(key, compute, decode, seconds, client)
        if hasattr(result, "data_version"):
            result.data_version = snapshot.version  # the result may be older, but is also valid for this version
        return result

    @contextmanager
    def _as_request_errors(self, query: Callable[..., object]) -> Iterator[None]:
        """Turn errors of a computation into errors of a request."""
        name, seconds = f"{query.__module__}.{query.__qualname__}", self.settings.query_seconds
        try:
            yield
        except Abandoned:
            log.info("%s was stopped: its client has left", name)
            raise BadRequest("client_left", "The client has disconnected.", status=499) from None  # nobody reads this
        except TimeLimitExceeded:
            log.warning("%s was stopped after %d seconds", name, seconds)
            raise BadRequest(
                "query_timeout",
                f"This was not computed within {seconds} seconds, the limit of this server "
                f"({environment_variable('query_seconds')}). Choose fewer runs, questions or metrics, leave out intervals, or "
                "try again when the server is less busy.",
                status=503,
            ) from None
        except (duckdb.IOException, duckdb.FatalException) as error:
            log.error("%s cannot read the store: %s", name, error)  # only logged, because it names files of this host
            raise UnreadableStore("A file of the store cannot be read.") from error
        except QueueFull:
            log.warning("%s was refused: the queue is full", name)
            raise BadRequest(
                "busy",
                "The server is busy with other requests, and its queue is full. Try again in a moment.",
                status=503,
                retry_after=RETRY_AFTER,
            ) from None
        except ClientLimitReached:
            client = current_client()
            log.info("%s was refused: its client waits for %d answers", name, client.places)
            whom = "your IP address" if client.shared else f"{client.name!r}"
            raise BadRequest(
                "too_many_at_once",
                f"{client.places} results are already being computed for {whom}, the maximum. Try again soon.",
                status=429,
                retry_after=RETRY_AFTER,
            ) from None

    def compute(self, query: Callable[..., T], *arguments: object) -> T:
        """Return the result of ``query(snapshot, *arguments)`` without the cache, for files that are requested only once.

        Raises ``BadRequest`` with status 503 if it takes too long or too many requests wait, 429 if this client waits for too
        many.
        """
        snapshot, client = self.snapshot(), current_client()
        with self._turn(query, client, f"{query.__qualname__} {id(arguments)}"):
            measured = _with_people(snapshot, arguments)
            with time_limit(self.settings.query_seconds, measured.connection.interrupt, client.left):
                return query(measured, *arguments)

    def compute_alone(self, function: Callable[..., T], *arguments: object) -> T:
        """Return the result of a function that does not read the store. It waits for its turn among queries.

        There is no time limit, so the function's arguments must limit its work. Raises ``BadRequest`` if too many requests wait.
        """
        with self._turn(function, current_client(), f"{function.__qualname__} {id(arguments)}"):
            return function(*arguments)

    def export(self, table: Table, form: Form) -> BinaryIO:
        """Return the rows of a table as a file, open for reading. Its disk space is freed when it is closed.

        Raises ``BadRequest`` as in ``compute``, and ``StoreError`` if the store cannot be read or the disk for temporary files is
        full.
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
        """Wait until a client may compute a result that is not cached."""
        until = time.monotonic() + self.settings.query_seconds
        with self._as_request_errors(query), self.cache.place(client, name), self.cache.turn(client, until, client.left):
            yield

    def stream(self, query: Callable[..., Iterator[T]], *arguments: object) -> Iterator[T]:
        """Return the parts of ``query(snapshot, *arguments)``. The first is computed at once, the others when they are needed.

        Raises ``BadRequest`` with status 503 if the first part takes too long. If a later part does, the stream ends early.
        """
        # The request is over when later parts are computed, so what they need from it is read now.
        snapshot, client_left = _with_people(self.snapshot(), arguments), client_watcher()
        parts = query(snapshot, *arguments)
        with self._with_time_limit(query, snapshot, client_left):
            first = list(itertools.islice(parts, 1))

        def following() -> Iterator[T]:
            yield from first
            while True:
                with self._with_time_limit(query, snapshot, client_left):
                    part = list(itertools.islice(parts, 1))
                if not part:
                    return
                yield part[0]

        return following()

    @contextmanager
    def _with_time_limit(
        self, query: Callable[..., object], snapshot: Snapshot, client_left: Callable[[], bool]
    ) -> Iterator[None]:
        """Stop an uncached computation at the time limit of queries, and when its client has left."""
        with self._as_request_errors(query), time_limit(self.settings.query_seconds, snapshot.connection.interrupt, client_left):
            yield

    def facets(self, dataset: str | None) -> Facets:
        """Return the filter values of a dataset, or of the first dataset if None."""
        snapshot = self.snapshot()
        return self._ask(snapshot, next(iter(snapshot.states), None) if dataset is None else dataset, read_facets, dataset)

    def datasets(self) -> list[Dataset]:
        """Return every dataset that this request may read, in order of import."""
        return [self.recall(describe_dataset, name) for name in self.snapshot().states]

    def recall(self, query: Callable[[Snapshot, str], T], dataset: str) -> T:
        """Return a small result for a dataset that many requests need: this process keeps it until the dataset changes.

        The dataset must be in the version that this request reads. Nobody may change the result. Raises as ``ask``.
        """
        snapshot = self.snapshot()
        kept, revision = self._recalled.get((query, dataset)), snapshot.states[dataset].revision
        if kept is None or kept[0] != revision:
            kept = (revision, self._ask(snapshot, dataset, query, dataset))
            self._recalled[query, dataset] = kept
        return cast("T", kept[1])

    def read(
        self, query: Iterable[tuple[str, str]], parameters: type[P], dataset: str | None = None, ignore_unknown: bool = False
    ) -> Request[P]:
        """Read a query string.

        ``parameters`` is the struct of the view's own keys, and ``dataset`` the one that the path names. Raises ``BadRequest`` if
        a value is unknown, or a key unless ``ignore_unknown``; the error names what is allowed.
        """
        return read_address(self.expand(query), self.facets, parameters, dataset, ignore_unknown)

    def expand(self, query: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs of a query string with those of the stored selection that it names, unless it has these keys itself.

        Raises ``BadRequest`` if there is no such selection, or it is of a dataset that the reader may not read.
        """
        pairs = list(query)
        named = [text for key, text in pairs if key == SELECTION]
        if not named:
            return pairs
        if len(named) > 1:
            raise BadRequest("repeated_key", f"{SELECTION!r} can be given only once.", SELECTION)
        stored = self.stored_selection(named[0])
        remember_selection(named[0], stored)
        own = {key for key, _ in pairs}
        return [*(pair for pair in stored if pair[0] not in own), *(pair for pair in pairs if pair[0] != SELECTION)]

    def expand_on_page(self, query: Iterable[tuple[str, str]]) -> tuple[list[tuple[str, str]], bool]:
        """Return what ``expand`` does, and whether the stored selection is left out because there is none any more.

        It is left out if the address also names a dataset that the reader may read: a page then shows all of that, and says so.
        Raises as ``expand``.
        """
        pairs = list(query)
        try:
            return self.expand(pairs), False
        except BadRequest as error:
            if error.code != "unknown_value" or dict(pairs).get("dataset") not in self.snapshot().states:
                raise
        return [pair for pair in pairs if pair[0] != SELECTION], True

    def stored_selection(self, identity: str) -> list[tuple[str, str]]:
        """Return the keys and values of a stored selection. Raises as ``expand``."""
        pairs = find_selection(self.store.files, identity, self.settings.unused_days)
        if pairs is None or dict(pairs).get("dataset") not in self.snapshot().states:
            ends = f"One ends when nobody uses it for {counted(self.settings.unused_days, 'day')}."
            raise BadRequest("unknown_value", f"There is no stored selection {identity[:40]!r}. {ends}", SELECTION)
        return pairs

    def keep_selection(self, pairs: Iterable[tuple[str, str]]) -> tuple[str, bool]:
        """Store keys of a selection that were read already. Return their id, and whether they are new.

        Raises ``RequestDenied`` if the reader may not store more now, and ``StoreError``.
        """
        pairs = list(pairs)
        identity = selection_id(pairs)
        new = find_selection(self.store.files, identity, self.settings.unused_days) is None
        if new:
            self.access.check_storing()
            keep_selection(self.store.files, pairs, *self.access.storing_reader())
            self._expire()
        return identity, new

    def _expire(self) -> None:
        """Remove what nobody used for long, at most once a day in this process."""
        if time.monotonic() < self._expired_at + BETWEEN_EXPIRIES:
            return
        self._expired_at = time.monotonic()
        try:
            expire_kinds(self.store, self.settings.unused_days)
        except StoreError as error:
            log.warning("what was not used for long could not be removed: %s", error)

    def shorten(self, pairs: Sequence[tuple[str, str]], selection: Selection) -> Sequence[tuple[str, str]]:
        """Return the pairs of an address of a selection. If they are too long, the long keys of the selection are stored.

        If they cannot be stored, the pairs stay as they are.
        """
        if not is_long(short := shortened(pairs)):
            return short
        lengths: dict[str, int] = {}
        for key, text in selection.pairs():
            lengths[key] = lengths.get(key, 0) + len(key) + len(text) + 2
        stored = [pair for pair in selection.pairs() if pair[0] == "dataset" or lengths[pair[0]] > MAX_VALUE_LENGTH]
        try:
            remember_selection(self.keep_selection(stored)[0], stored)
        except (RequestDenied, StoreError) as error:
            log.info("a selection was not stored: %s", error)
        return shortened(pairs)


def _with_people(snapshot: Snapshot, arguments: Sequence[object]) -> Snapshot:
    """Return the snapshot with the people of the selection, if the first argument of a query is a selection."""
    if not arguments or not isinstance(arguments[0], Selection):
        return snapshot
    return with_people(snapshot, arguments[0].dataset, arguments[0].people)


def current_client() -> Client:
    """Return the client of this request or, outside a request, this program itself.

    A client is a token, wherever it stands, or a user named by a proxy. An IP address is one only if nothing else is known.
    """
    if not has_request_context():
        return Client()
    name = service().access.reader().name
    return Client(name or client_address(request.remote_addr), not name, client_watcher())


def client_watcher() -> Callable[[], bool]:
    """Return a function that says whether the client of this request has closed its connection.

    It can be called in any thread, and always returns False outside gunicorn.
    """
    connection: socket.socket | None = request.environ.get("gunicorn.socket") if has_request_context() else None

    def client_left() -> bool:
        if connection is None:
            return False
        try:
            return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:  # the client is waiting and has sent nothing
            return False
        except OSError:
            return True

    return client_left


def service() -> Service:
    """Return the service of the server that handles this request."""
    return cast("Service", current_app.extensions[EXTENSION])


@cache
def _code(*packages: ModuleType) -> str:
    """Return a hash of the code behind the results, so that results of another version of the code are not used."""
    modules = sorted(path for package in packages for path in Path(package.__path__[0]).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()


def _key_of(argument: object) -> object:
    """Return an argument of a query as part of a cache key. A metric is replaced by its key."""
    if isinstance(argument, tuple | list):
        return [_key_of(part) for part in argument]
    return argument.key if isinstance(argument, Metric) else argument


def _cache_folder(store: Path) -> Path:
    """Return a folder in the store or, if the store is read-only, one for temporary files. All workers share it."""
    folder = store / "cache"
    try:
        make_folder(folder)
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
    return Path(tempfile.mkdtemp(prefix="clueline-cache-"))  # somebody else has already put something there
