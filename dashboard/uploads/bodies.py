"""Receives the body of an upload into a file, in small chunks, with a limit on its size."""

from __future__ import annotations

import re
import unicodedata
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from flask import request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from clueline.dashboard.access.providers import RequestDenied
from clueline.data.store import StoreError

CHUNK = 64 * 1024  # bytes
MAX_FIELD_BYTES = 8 * 2**20  # bytes of the fields of a form, without the file
MAX_PARTS = 40  # parts of a form
MAX_NAME_LENGTH = 200  # characters
# Accepted content types. Browsers and curl label a CSV in many ways; the content decides how a file is read.
TYPES = frozenset({
    "", "text/csv", "text/x-csv", "application/csv", "application/vnd.ms-excel", "text/plain", "text/tab-separated-values",
    "application/json", "application/jsonl", "application/x-jsonlines", "application/x-ndjson", "application/ndjson",
    "application/octet-stream", "application/vnd.apache.parquet", "application/x-parquet", "application/parquet",
    "application/gzip", "application/x-gzip", "application/zstd", "application/zip", "application/x-zip-compressed",
    "application/vnd.sqlite3", "application/x-sqlite3", "application/x-www-form-urlencoded", "multipart/form-data",
})  # fmt: skip
ENCODINGS = ("", "identity", "gzip", "x-gzip", "zstd")  # compression is detected from the content


@dataclass
class Received:
    """A received file."""

    path: Path
    name: str | None  # the sender's name for it, cleaned; None if the sender gave none
    fields: list[tuple[str, str]] = field(default_factory=list)  # keys and values of the form that contained it


def check_type() -> None:
    """Refuse a body with a content type or encoding that an upload cannot have. Raises ``Denied`` with status 415."""
    if request.mimetype not in TYPES:
        raise RequestDenied(
            415, "unsupported_type", f"A body of type {request.mimetype[:100]!r} is not accepted; send the file as text/csv, "
            "application/x-ndjson, application/vnd.apache.parquet, application/octet-stream or multipart/form-data.",
        )  # fmt: skip
    if request.headers.get("Content-Encoding", "").strip().lower() not in ENCODINGS:
        raise RequestDenied(415, "unsupported_encoding", "Content-Encoding must be gzip or zstd, or left out.")


def receive(folder: Path, max_bytes: int) -> Received:
    """Stream the body of this request into a file of at most ``max_bytes`` in an empty folder.

    Raises ``Denied`` if the body is too large, empty, incomplete, or a form without a file, ``BodyRefused`` if it is too slow,
    and ``StoreError`` if the file cannot be written.
    """
    request.max_content_length = max_bytes + (
        MAX_FIELD_BYTES + MAX_PARTS * CHUNK if request.mimetype == "multipart/form-data" else 0
    )
    with closing(LimitedFile(folder / "file", max_bytes)) as target:
        try:
            stream = PacedStream(request.stream)
            received = _multipart(stream, target) if request.mimetype == "multipart/form-data" else _raw(stream, target)
            if request.content_length is not None and stream.count < request.content_length:
                raise ClientDisconnected  # some servers do not raise this themselves
        except RequestEntityTooLarge as error:
            raise too_large(max_bytes) from error
        except (HTTPException, OSError, ParseException) as error:
            raise RequestDenied(400, "broken_off", "The body ended before it was complete; send it again.") from error
    if not target.written:
        raise RequestDenied(400, "empty_file", "The file is empty.", "file")
    return received


def too_large(max_bytes: int) -> RequestDenied:
    """Return the error for a body that is too large."""
    limit = f"The file is larger than {max_bytes // 2**20:,} MiB, the limit of this server (CLUELINE_MAX_UPLOAD_MB). "
    return RequestDenied(413, "too_large", limit + "Compress it, write it as Parquet, or have it imported on the command line.")


def _raw(stream: PacedStream, target: LimitedFile) -> Received:
    while chunk := stream.read(CHUNK):
        target.write(chunk)
    return Received(target.path, None)


def _multipart(stream: PacedStream, target: LimitedFile) -> Received:
    boundary = request.mimetype_params.get("boundary", "")
    if not boundary or not boundary.isascii() or len(boundary) > 200:
        raise RequestDenied(400, "bad_form", "The form does not state the boundary between its parts.")
    names: list[str | None] = []

    def open_file(**part: Any) -> LimitedFile:
        names.append(part["filename"])
        if len(names) > 1:
            raise RequestDenied(400, "several_files", "Send one file at a time.", "file")
        return target

    parser = MultiPartParser(
        open_file,  # type: ignore[arg-type]
        max_form_memory_size=MAX_FIELD_BYTES,
        buffer_size=CHUNK,
        max_form_parts=MAX_PARTS,
    )
    try:
        form, files = parser.parse(cast("IO[bytes]", stream), boundary.encode("ascii"), request.content_length)
    except ValueError as error:
        raise RequestDenied(400, "bad_form", f"The form cannot be read: {error}") from error
    others = [name for name in files if name != "file"]
    if "file" not in files or others:
        where = f"the field {others[0][:100]!r}" if others else "no field"
        raise RequestDenied(
            400, "no_file", f"The file must be in the field `file`; {where} has one (curl: -F file=@FILE).", "file"
        )
    return Received(target.path, clean_name(names[0]), list(form.items(multi=True)))


def clean_name(name: str | None) -> str | None:
    """Return a file name to show, without folders and control characters. It is never used to open a file.

    It has at most ``MAX_NAME_LENGTH`` characters; None if nothing is left of it.

    >>> clean_name("../../answers.csv")
    'answers.csv'
    """
    last = re.split(r"[/\\]", name or "")[-1]
    printable = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()
    return printable[-MAX_NAME_LENGTH:] or None


class LimitedFile:
    """A new file that refuses to grow beyond a size; ``written`` counts its bytes."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.written = 0
        self._max_bytes = max_bytes
        self._file = path.open("wb")

    def write(self, chunk: bytes) -> int:
        """Append a chunk. Raises ``RequestEntityTooLarge`` beyond the greatest size, ``StoreError`` if the disk fails."""
        self.written += len(chunk)
        if self.written > self._max_bytes:
            raise RequestEntityTooLarge
        try:
            return self._file.write(chunk)
        except OSError as error:
            raise StoreError(f"the upload cannot be written to {self.path.parent}: {error}") from error

    def seek(self, position: int) -> int:
        """Do nothing. Werkzeug rewinds a file for its reader, but nobody reads this object."""
        return position

    def close(self) -> None:
        """Flush and close the file. Raises ``StoreError``."""
        try:
            self._file.close()
        except OSError as error:
            raise StoreError(f"the upload cannot be written to {self.path.parent}: {error}") from error


class PacedStream:
    """A stream that is read in small chunks, because a large read blocks until all of it has arrived.

    ``count`` is the number of bytes read so far. Workers limit the time of each chunk (``dashboard/http/slow_clients.py``).
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = CHUNK) -> bytes:
        """Read at most ``CHUNK`` bytes."""
        chunk = self._stream.read(min(size, CHUNK) if size > 0 else CHUNK)
        self.count += len(chunk)
        return chunk
