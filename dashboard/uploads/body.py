"""The body of an upload, on its way to the disk: never whole in memory, never more than allowed, never for ever."""

from __future__ import annotations

import re
import socket
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from flask import request
from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from dashboard.uploads.access import Denied
from data.store.generations import StoreError

CHUNK = 64 * 1024  # bytes; each such piece must come within PATIENCE
PATIENCE = 60.0  # seconds
FIELDS_SIZE = 8 * 2**20  # bytes of the fields of a form beside the file
PARTS = 40
LONGEST_NAME = 200  # characters
# What a body may be called. Browsers and curl call a CSV many things; what is in it decides how it is read.
TYPES = frozenset({
    "", "text/csv", "text/x-csv", "application/csv", "application/vnd.ms-excel", "text/plain", "text/tab-separated-values",
    "application/json", "application/jsonl", "application/x-jsonlines", "application/x-ndjson", "application/ndjson",
    "application/octet-stream", "application/vnd.apache.parquet", "application/x-parquet", "application/parquet",
    "application/gzip", "application/x-gzip", "application/zstd", "application/zip", "application/x-zip-compressed",
    "application/x-www-form-urlencoded", "multipart/form-data",
})  # fmt: skip
ENCODINGS = ("", "identity", "gzip", "x-gzip", "zstd")  # packed bodies are told by their content


@dataclass
class Received:
    """A file on disk, what it is called where it comes from, and the fields beside it."""

    path: Path
    name: str | None
    fields: list[tuple[str, str]] = field(default_factory=list)


def check_type() -> None:
    """Refuse a body that is called what no file of runs is."""
    if request.mimetype not in TYPES:
        raise Denied(
            415, "unsupported_type", f"A body of type {request.mimetype[:100]!r} is not taken; send the file as text/csv, "
            "application/x-ndjson, application/vnd.apache.parquet, application/octet-stream or multipart/form-data.",
        )  # fmt: skip
    if request.headers.get("Content-Encoding", "").strip().lower() not in ENCODINGS:
        raise Denied(415, "unsupported_encoding", "Content-Encoding can be gzip or zstd.")


def receive(folder: Path, most: int) -> Received:
    """Stream the body of this request into a file in ``folder``.

    Args:
        folder: an empty one.
        most: bytes that the file may have.

    Raises:
        Denied: it is too large, too slow, empty, broken off, or holds no file.
    """
    request.max_content_length = most + (FIELDS_SIZE + PARTS * CHUNK if request.mimetype == "multipart/form-data" else 0)
    with closing(_Spool(folder / "file", most)) as spool:
        try:
            with _watched() as stream:
                found = _multipart(stream, spool) if request.mimetype == "multipart/form-data" else _raw(stream, spool)
                if request.content_length is not None and stream.count < request.content_length:
                    raise ClientDisconnected  # servers differ in whether they say so
        except RequestEntityTooLarge as error:
            raise too_large(most) from error
        except (HTTPException, OSError) as error:
            raise Denied(400, "broken_off", "The body ended before it was complete; send it again.") from error
    if not spool.written:
        raise Denied(400, "empty_file", "The file is empty.", "file")
    return found


def too_large(most: int) -> Denied:
    """The refusal of a body that is too large."""
    said = f"The file is larger than {most // 2**20:,} MiB, the most that this server takes (CLUELINE_MAX_UPLOAD_MB). "
    return Denied(413, "too_large", said + "Pack it, write it as Parquet, or have it imported on the command line.")


def _raw(stream: IO[bytes], spool: _Spool) -> Received:
    while chunk := stream.read(CHUNK):
        spool.write(chunk)
    return Received(spool.path, None)


def _multipart(stream: IO[bytes], spool: _Spool) -> Received:
    boundary = request.mimetype_params.get("boundary", "")
    if not boundary or not boundary.isascii() or len(boundary) > 200:
        raise Denied(400, "bad_form", "The form states no boundary between its parts.")
    opened: list[str | None] = []

    def one_file(**of: Any) -> Any:  # werkzeug names what it says of a part
        opened.append(of["filename"])
        if len(opened) > 1:
            raise Denied(400, "several_files", "One file at a time.", "file")
        return spool

    parser = MultiPartParser(
        one_file,  # type: ignore[arg-type]
        max_form_memory_size=FIELDS_SIZE,
        buffer_size=CHUNK,
        max_form_parts=PARTS,
    )
    try:
        form, files = parser.parse(stream, boundary.encode("ascii"), request.content_length)
    except ValueError as error:
        raise Denied(400, "bad_form", f"The form cannot be read: {error}") from error
    strange = [name for name in files if name != "file"]
    if "file" not in files or strange:
        what = f"the field {strange[0][:100]!r}" if strange else "no field"
        raise Denied(400, "no_file", f"The file belongs into the field `file`; {what} has one (curl: -F file=@FILE).", "file")
    return Received(spool.path, clean_name(opened[0]), list(form.items(multi=True)))


def clean_name(name: str | None) -> str | None:
    """What a file is called, without folders and without what no name should have: it is shown, never opened."""
    last = re.split(r"[/\\]", name or "")[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()
    return shown[-LONGEST_NAME:] or None


class _Spool:
    """A file that refuses to grow beyond a size."""

    def __init__(self, path: Path, most: int) -> None:
        self.path = path
        self.written = 0
        self._most = most
        self._file = path.open("wb")

    def write(self, chunk: bytes) -> int:
        """Append."""
        self.written += len(chunk)
        if self.written > self._most:
            raise RequestEntityTooLarge
        try:
            return self._file.write(chunk)
        except OSError as error:
            raise StoreError(f"the upload cannot be written to {self.path.parent}: {error}") from error

    def seek(self, place: int) -> int:
        """Werkzeug rewinds what it has written; nobody reads this one."""
        return place

    def close(self) -> None:
        """Write it out."""
        try:
            self._file.close()
        except OSError as error:
            raise StoreError(f"the upload cannot be written to {self.path.parent}: {error}") from error


class _Paced:
    """A stream that remembers when it last gave something; small pieces, for a large one blocks until it is full."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.count = 0  # bytes
        self.last = time.monotonic()

    def read(self, size: int = CHUNK) -> bytes:
        """At most CHUNK bytes."""
        chunk = self._stream.read(min(size, CHUNK) if size > 0 else CHUNK)
        self.last = time.monotonic()
        self.count += len(chunk)
        return chunk


@contextmanager
def _watched() -> Iterator[Any]:
    """The body of this request; whoever sends it too slowly is cut off."""
    paced = _Paced(request.stream)
    with patient(lambda: paced.last + PATIENCE) as late:
        try:
            yield paced
        except (HTTPException, OSError, Denied):
            if late.is_set():
                raise Denied(408, "too_slow", f"Less than {CHUNK:,} bytes came within {PATIENCE:g} seconds.") from None
            raise


@contextmanager
def patient(until: Any) -> Iterator[threading.Event]:
    """Stop listening to the client of this request at the time that ``until`` gives, which may move; the event: we did."""
    connection: socket.socket | None = request.environ.get("gunicorn.socket")
    late, done = threading.Event(), threading.Event()
    if connection is None:  # a test client, which has no network to wait for
        yield late
        return

    def watch() -> None:
        while not done.wait(1.0):
            if time.monotonic() > until():
                late.set()
                # What waits for the rest then finds the end of the body; the answer still goes out.
                connection.shutdown(socket.SHUT_RD)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield late
    finally:
        done.set()
        watcher.join()
