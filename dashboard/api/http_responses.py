"""Responses of all addresses: JSON and CSV in full precision, and the envelope of errors."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

import msgspec
import polars as pl
from flask import Response

from data.store.export import Form

# Text with which spreadsheets begin a formula, but no number. https://owasp.org/www-community/attacks/CSV_Injection
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+\-]?[0-9.]+([eE][+\-]?[0-9]+)?$"
CHUNK = 256 * 1024  # bytes of a file that are sent at once
MIMETYPES: dict[Form, str] = {
    "csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet",
}  # fmt: skip


def json_response(answer: object, status: int = 200) -> Response:
    """A struct as JSON, numbers in full precision."""
    return Response(msgspec.json.encode(answer), status, mimetype="application/json")


def error_response(
    code: str,
    message: str,
    status: int,
    field: str | None = None,
    allowed: Sequence[str] = (),
    rows: Sequence[object] = (),
    **more: object,
) -> Response:
    """The envelope of every error.

    Args:
        code: for programs.
        message: for people.
        status: of HTTP.
        field: the key of the address that is wrong, if it is one.
        allowed: its allowed values.
        rows: what is wrong with the rows of a file.
        more: further keys of the envelope.
    """
    envelope: dict[str, object] = {"code": code, "message": message, "field": field, "allowed": list(allowed), "rows": list(rows)}
    return json_response({"error": envelope | more}, status)


def csv_response(header: Sequence[str], rows: Sequence[Sequence[object]], name: str) -> Response:
    """A table as CSV, numbers in full precision, missing values blank, truth values as ``true`` and ``false``.

    An apostrophe stands before text that a spreadsheet would run as a formula. Files that import again have none.

    Args:
        header: names of the columns.
        rows: of cells.
        name: of the file, without its ending.
    """
    plain = [_cell(cell) for row in rows for cell in row]
    width = len(header)
    lines = [_line(header), *(_line(plain[at : at + width]) for at in range(0, len(plain), width or 1))]
    return stream_response(["".join(lines)], "csv", name)


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):  # as files of responses have it
        return "true" if value else "false"
    if isinstance(value, str) and re.match(FORMULA, value) and not re.match(NUMBER, value):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value


class _Echo:
    """Gives a csv writer's line back."""

    def write(self, line: str) -> str:
        """The line."""
        return line


# Cells with a carriage return are quoted only where it is part of the line's end, before Python 3.13.
_WRITER = csv.writer(_Echo(), lineterminator="\r\n")


def _line(cells: Sequence[object]) -> str:
    return str(_WRITER.writerow(cells)).removesuffix("\r\n") + "\n"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """A table whose text no spreadsheet runs, as ``csv_response`` gives it."""
    text = pl.col(pl.String)
    runs = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return frame.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())


def csv_parts(header: Sequence[str], frames: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Frames without nested columns as CSV, part by part."""
    yield _line(header)
    for frame in frames:
        yield frame.write_csv(include_header=False)


def jsonl_parts(frames: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Frames as JSON Lines, part by part."""
    for frame in frames:
        yield frame.write_ndjson()


def stream_response(parts: Iterable[str] | Iterable[bytes], form: Form, name: str) -> Response:
    """A file that is made while it is sent.

    Args:
        parts: of its content.
        form: its ending, which says what it is.
        name: without the ending.
    """
    return Response(parts, mimetype=MIMETYPES[form], headers=attached(f"{name}.{form}"))


def file_response(file: BinaryIO, form: Form, name: str) -> Response:
    """A file, read some bytes at a time, and closed when it is sent or the client is gone; ``form`` and ``name`` as above."""
    size = file.seek(0, 2)
    file.seek(0)
    answer = stream_response(iter(lambda: file.read(CHUNK), b""), form, name)
    answer.content_length = size
    answer.call_on_close(file.close)
    return answer


def attached(file_name: str) -> dict[str, str]:
    """The header that makes a browser save an answer, under a name that no file system or shell reads otherwise."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", file_name)[-100:].lstrip(".-")
    return {"Content-Disposition": f'attachment; filename="{safe}"'}
