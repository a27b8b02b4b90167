"""Bodies of requests, and builders of responses.

JSON that clients send becomes a value of the expected type, or an error that says why not, whatever its bytes are. Responses are
JSON and CSV in full precision, files, and the envelope of errors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, TypeVar

import msgspec
import polars as pl
from flask import Response, request

from clueline.data.store.query_to_file import Form
from clueline.queries.selection.parameter_kinds import BadRequest

T = TypeVar("T")
# Text that starts like a formula in spreadsheets, unless it is a number. https://owasp.org/www-community/attacks/CSV_Injection
FORMULA_PATTERN = r"^[=+\-@\t\r\n]"
NUMBER = r"^[+\-]?[0-9.]+([eE][+\-]?[0-9]+)?$"
CHUNK = 256 * 1024  # bytes of a file sent at a time
MIMETYPES: dict[Form, str] = {
    "csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet",
}  # fmt: skip


class InvalidJson(Exception):
    """It is not JSON, or not of the expected type. The message says why."""


def decode_json(content: bytes | str, kind: type[T]) -> T:
    """Return the value of a JSON text. Raises ``InvalidJson`` if it is not JSON, or not of this type."""
    try:
        if isinstance(content, bytes):
            content.decode()  # msgspec does not decode what it skips
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise InvalidJson(str(error)) from None
    except UnicodeError:
        raise InvalidJson("it is not UTF-8") from None
    except RecursionError:
        raise InvalidJson("it is nested too deeply") from None


def read_body(kind: type[T]) -> T:
    """Return the body of this request. Raises ``BadRequest`` if it is not JSON, or not of this type."""
    try:
        return decode_json(request.get_data(), kind)
    except InvalidJson as error:
        raise BadRequest("bad_value", f"The body is not as documented: {error}.") from None


def json_response(answer: object, status: int = 200) -> Response:
    """Return a struct as JSON, with numbers in full precision."""
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
    """Return an error in the envelope that all errors share: ``code`` for programs, ``message`` for people.

    ``field`` is the wrong key of the query string or body, with its ``allowed`` values. ``rows`` are what is wrong with the rows
    of a file. ``more`` are further keys of the envelope.
    """
    envelope: dict[str, object] = {"code": code, "message": message, "field": field, "allowed": list(allowed), "rows": list(rows)}
    return json_response({"error": envelope | more}, status)


def csv_response(header: Sequence[str], rows: Sequence[Sequence[object]], name: str) -> Response:
    """Return a table as CSV: numbers in full precision, missing values blank, booleans as ``true`` and ``false``.

    Lists are separated by semicolons. Text that a spreadsheet would run as a formula gets an apostrophe in front. Files meant to
    be imported again do not. The file's ``name`` has no extension.
    """
    plain = [_cell(cell) for row in rows for cell in row]
    width = len(header)
    lines = [_line([*map(_cell, header)]), *(_line(plain[at : at + width]) for at in range(0, len(plain), width or 1))]
    return Response("".join(lines), mimetype=MIMETYPES["csv"], headers=attachment_headers(f"{name}.csv"))


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case list():
            joined = ";".join(map(str, value))
            return spreadsheet_text(joined) if any(isinstance(part, str) for part in value) else joined
        case bool():  # the spelling used in response files
            return "true" if value else "false"
        case str():
            return spreadsheet_text(value)
        case float():
            return repr(value)
    return value


def spreadsheet_text(text: str) -> str:
    """Return a text with an apostrophe in front if a spreadsheet would run it as a formula.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5"), spreadsheet_text("plain")
    ("'=1+1", '-5', 'plain')
    """
    return f"'{text}" if re.match(FORMULA_PATTERN, text) and not re.match(NUMBER, text) else text


class _Echo:
    """A file-like object that makes a csv writer return each line."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


# Before Python 3.13, a cell with a carriage return is quoted only if the line terminator contains one.
_WRITER = csv.writer(_Echo(), lineterminator="\r\n")


def _line(cells: Sequence[object]) -> str:
    return str(_WRITER.writerow(cells)).removesuffix("\r\n") + "\n"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose text no spreadsheet runs as a formula, as in ``csv_response``."""
    text = pl.col(pl.String)
    runs = text.str.contains(FORMULA_PATTERN) & ~text.str.contains(NUMBER)
    return frame.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())


def csv_parts(header: Sequence[str], frames: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield the CSV of frames without nested columns, part by part."""
    yield _line([*map(_cell, header)])
    for frame in frames:
        yield frame.write_csv(include_header=False)


def jsonl_parts(frames: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield frames as JSON Lines, part by part."""
    for frame in frames:
        yield frame.write_ndjson()


def stream_response(parts: Iterable[str] | Iterable[bytes], form: Form, name: str) -> Response:
    """Return a file that is generated while it is sent. ``form`` is its extension, which sets the MIME type."""
    return Response(parts, mimetype=MIMETYPES[form], headers=attachment_headers(f"{name}.{form}"))


def file_response(file: BinaryIO, form: Form, name: str) -> Response:
    """Return a file as a response. It is read in chunks, and closed when it was sent or the client has left.

    It must be possible to seek in it. ``form`` is its extension, which sets the MIME type.
    """
    size = file.seek(0, 2)
    file.seek(0)
    answer = stream_response(iter(lambda: file.read(CHUNK), b""), form, name)
    answer.content_length = size
    answer.call_on_close(file.close)
    return answer


def attachment_headers(file_name: str) -> dict[str, str]:
    """Return the header that makes a browser save a response, under a name that is safe in file systems and shells."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", file_name)[-100:].lstrip(".-")
    return {"Content-Disposition": f'attachment; filename="{safe}"'}
