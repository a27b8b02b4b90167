"""Files that hold a table in one of three formats, compressed or not: CSV, JSON Lines or Parquet.

A reader of another document, such as JSON, a log or a database, collects its cells unchanged in a polars frame and passes it to
``Staging.add_rows``. They are then checked against a contract like the cells of a CSV file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import polars as pl

from clueline.data.duckdb_and_polars import quoted
from clueline.data.importing.report import Place, Problem, refuse
from clueline.data.plurals import counted

if TYPE_CHECKING:
    import duckdb

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Format = Literal["csv", "jsonl", "parquet"]
MAX_LINE_LENGTH = 16 * 1024 * 1024  # bytes; a model's reasoning can be long, but an unclosed quote makes a longer line
MAX_UNPACKED_BYTES = 64 * 2**30  # bytes that the compressed files of an import may unpack to by default
HEADER = 1_000_000  # characters within which a header must end
MAX_COLUMNS = 16_384  # of a file; the limit of a spreadsheet
MIN_CELL_BYTES = 8  # bytes that a Parquet cell counts as at least: a few kilobytes can repeat a cell a billion times
DELIMITERS = ",\t;"
CHUNK = 1024 * 1024
MAX_COUNTED_BAD_ROWS = 200_000  # bad rows beyond the listed ones that are counted at most
MAX_CAUSE_LENGTH = 300  # characters of a DuckDB error that are shown
SHOWN_LINES, SHOWN = 3, 120  # lines and characters of a bad row that are shown
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # first bytes
PARQUET = "binary_as_string = true, hive_partitioning = false"
NOT_UTF8 = "the text is not UTF-8; save the file as UTF-8"
WRONG_LINE = "this line is not a JSON object"
NULS = "there are NUL bytes in the first line: this is not text, or it is UTF-16 text; save the file as CSV in UTF-8"
PICKLE = "a pickle, which is never opened, because it can run any program; write the table as CSV or Parquet"
# First bytes of files that people mistake for tables, and what to tell them.
NO_TABLES = {
    b"BZh": "a bzip2 file; pack it with gzip or zstd, or not at all",
    b"\xfd7zXZ": "an xz file; pack it with gzip or zstd, or not at all",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"Rar!": "a rar archive; unpack it",
    b"%PDF": "a PDF; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save its sheet as CSV (UTF-8)",
    b"SQLite format 3": "a SQLite database; write the table as CSV",
    b"ARROW1": "an Arrow file; write it as Parquet",
    b"\xff\xff\xff\xff": "a stream of Arrow; write it as Parquet",
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), PICKLE),
    b"\x93NUMPY": "an array of NumPy; write it as CSV, with names of columns",
    b"\x89HDF": "an HDF5 file; write the table as CSV or Parquet",
    b"Obj\x01": "an Avro file; write it as Parquet",
    b"\x89PNG": "a picture, not a table",
}
TOO_LONG = f"this row is longer than {MAX_LINE_LENGTH // 2**20} MiB; is a quote left open?"
OPEN_QUOTE = (
    "a quoted field is not closed, or text follows its closing quote; a quote inside a quoted field must be written twice"
)


class UnpackingLimit:
    """The number of bytes that the compressed files of one import may unpack to, taken together."""

    def __init__(self, largest: int = MAX_UNPACKED_BYTES) -> None:
        self.largest = largest
        self._taken = 0

    def take(self, count: int, name: str) -> None:
        """Count bytes of the file ``name``. Raises ``Refused`` if the sum exceeds the limit."""
        self._taken += count
        if self._taken > self.largest:
            raise refuse(name, f"the file unpacks to more than {size(self.largest)}")


class TableFile:
    """A file that holds a table, decompressed on disk. Reports call it ``name``. The files of an import share the limit."""

    def __init__(self, path: Path, workspace: Path, name: str | None = None, limit: UnpackingLimit | None = None) -> None:
        self.name = name or path.name
        self._workspace = workspace
        self.limit = limit or UnpackingLimit()
        # SQL for each column over those of the step before, and first over the columns c0, c1, … of a CSV.
        self.steps: list[dict[str, str]] = []
        self.path = _decompressed(path, workspace, self.name, self.limit)

    @property
    def pattern(self) -> str:
        """The path for DuckDB's readers. Characters that they would read as a pattern, as in ``run[1].csv``, are escaped."""
        return re.sub(r"[\[*?]", r"[\g<0>]", str(self.path))

    @cached_property
    def format(self) -> Format:
        """The format, recognised by content and not by name."""
        with self.path.open("rb") as file:
            start = file.read(4096)
        if start.startswith(b"PAR1"):
            return "parquet"
        if self.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".parquet", ".pq")):
            raise refuse(self.name, "this is not a Parquet file: it does not begin with the bytes PAR1")
        for signature, what in NO_TABLES.items():
            if start.startswith(signature):
                raise refuse(self.name, f"this is {what}")
        first = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if first == b"[":
            raise refuse(self.name, "this is one JSON list; write JSON Lines, an object on each line", line=1)
        return "jsonl" if first == b"{" else "csv"

    @cached_property
    def dialect(self) -> tuple[str, list[str]]:
        try:
            with self._text() as lines:
                first = lines.readline(HEADER)
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        if "\0" in first:
            raise refuse(self.name, NULS, line=1)
        if not first.strip():
            raise refuse(self.name, "the first line is blank; it must name the columns", line=1)
        if len(first) == HEADER or first.count('"') % 2:
            reason = "the first line must name the columns; this one does not end, or leaves a quote open"
            raise refuse(self.name, reason, line=1, value=first[:80])
        delimiter = max(DELIMITERS, key=first.count)
        header = next(csv.reader([first], delimiter=delimiter))
        if len(header) > MAX_COLUMNS:
            raise refuse(self.name, f"the first line names more than {MAX_COLUMNS:,} columns", line=1)
        return delimiter, [column.strip() for column in header]

    @cached_property
    def columns(self) -> list[str]:
        """Column names. For JSON Lines, the keys of the first object."""
        if self.format == "csv":
            return [*self.steps[-1]] if self.steps else self.dialect[1]
        if self.format == "parquet":
            import duckdb

            try:
                with duckdb.connect() as connection:
                    described = connection.execute(f"describe from read_parquet($1, {PARQUET})", [self.pattern]).fetchall()
                if len(described) > MAX_COLUMNS:
                    raise refuse(self.name, f"the file has more than {MAX_COLUMNS:,} columns")
                return [row[0] for row in described]
            except duckdb.Error as error:
                raise self.damaged_parquet(error) from error
        return list(self.first_row)

    @cached_property
    def first_row(self) -> dict[str, Any]:
        """The first object of JSON Lines; empty for the other formats."""
        if self.format != "jsonl":
            return {}
        number, line = 0, ""
        try:
            with self._text() as lines:
                while not line.strip():  # the first line is not blank: it begins with {
                    line, number = lines.readline(MAX_LINE_LENGTH), number + 1
            first = json.loads(line, parse_int=float) if len(line) < MAX_LINE_LENGTH else None
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        except RecursionError:
            raise refuse(self.name, "this line nests too deeply", line=number, value=line[:80]) from None
        except ValueError:
            first = None
        if len(line) == MAX_LINE_LENGTH:
            raise refuse(self.name, TOO_LONG, line=number, value=line[:80])
        if not isinstance(first, dict):
            raise refuse(self.name, NULS if "\0" in line else WRONG_LINE, line=number, value=line[:80])
        return first

    def _text(self) -> IO[str]:
        return self.path.open(encoding="utf-8-sig", newline="")

    def places_of(self, ordinals: set[int]) -> dict[int, Place]:
        """Return the physical lines of some rows, given by ordinal, 1-based. For CSV this takes a pass over the file."""
        if self.format != "csv":
            return {ordinal: Place(ordinal) for ordinal in ordinals}
        result = {ordinal: Place(None) for ordinal in ordinals}
        missing = len(result)
        for ordinal, (line, _) in enumerate(self.records(), start=1):
            if ordinal in ordinals:
                result[ordinal] = Place(line)
                missing -= 1
                if not missing:
                    break
        return result

    def records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the first physical line and the fields of each row of a CSV file, without the header and blank lines.

        If ``strict``, raises ``Refused`` where a quote is left open or followed by text.
        """
        with self._text() as lines:
            csv.field_size_limit(MAX_LINE_LENGTH)
            rows = csv.reader(lines, delimiter=self.dialect[0], strict=strict)
            next(rows, None)
            before = rows.line_num
            try:
                for row in rows:
                    if row:
                        yield before + 1, row
                    before = rows.line_num
            except csv.Error as error:
                raise refuse(self.name, OPEN_QUOTE, line=before + 1) from error

    def misshapen(self, width: int, most: int) -> tuple[list[Problem], int]:
        """Return up to ``most`` rows that cannot be read as ``width`` fields of text, and the number of the others.

        For JSON Lines, a row is a line, and the width 1. The others are counted up to ``MAX_COUNTED_BAD_ROWS``.
        """
        problems: list[Problem] = []
        more = 0
        try:
            for line, reason, text in self._misshapen(width):
                if len(problems) < most:
                    problems.append(Problem(self.name, line, None, text, reason))
                elif more < MAX_COUNTED_BAD_ROWS:
                    more += 1
                else:
                    break
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        return problems, more

    def _misshapen(self, width: int) -> Iterator[tuple[int, str, str]]:
        """Yield the first line, the fault and the beginning of each misshapen row."""
        start: list[str] = []  # first lines of the current row
        number, length = 0, 0

        def lines() -> Iterator[str]:
            nonlocal number, length
            while line := source.readline(MAX_LINE_LENGTH):
                number, length = number + 1, length + len(line)
                if len(start) < SHOWN_LINES:
                    start.append(line[:SHOWN])
                if len(line) == MAX_LINE_LENGTH:
                    while line and not line.endswith(("\n", "\r")):
                        line = source.readline(MAX_LINE_LENGTH)
                    raise csv.Error(TOO_LONG)
                yield line

        with self._text() as source:
            if self.format == "csv":
                csv.field_size_limit(MAX_LINE_LENGTH)
                source.readline()
                number = 1
                quoting: dict[str, Any] = {"delimiter": self.dialect[0], "strict": True}
            else:
                quoting = {}
            while True:
                first, length = number + 1, 0
                start.clear()
                try:
                    for row in csv.reader(lines(), **quoting) if self.format == "csv" else ([line] for line in lines()):
                        if row and len(row) != width and not (len(row) == width + 1 and not row[-1]):
                            yield first, misfit(len(row), width), "".join(start)[:SHOWN].strip("\r\n")
                        first, length = number + 1, 0
                        start.clear()
                    return
                except csv.Error as error:
                    long = str(error) == TOO_LONG or "field larger" in str(error)
                    yield first, TOO_LONG if long else OPEN_QUOTE, "".join(start)[:SHOWN].strip("\r\n")

    def has_endless_line(self) -> bool:
        """Whether a line is longer than ``MAX_LINE_LENGTH``. DuckDB drops such a row without an error."""
        length = 0
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                ends = [at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0]
                if length + (min(ends) if ends else len(chunk)) > MAX_LINE_LENGTH:
                    return True
                length = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) if ends else length + len(chunk)
        return False

    def mixes_line_ends(self) -> bool:
        """Whether lines end in different ways, including lines within quotes."""
        counts = [0, 0, 0]
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                if chunk.endswith(b"\r"):
                    chunk += file.read(1)
                both = chunk.count(b"\r\n")
                counts = [counts[0] + both, counts[1] + chunk.count(b"\n") - both, counts[2] + chunk.count(b"\r") - both]
        return sum(map(bool, counts)) > 1

    def with_even_line_ends(self) -> TableFile:
        """Make a copy whose rows all end in the same way: DuckDB does not read files that mix line ends. Raises ``Refused``."""
        target = self._workspace / f"{len(list(self._workspace.iterdir()))}.even"
        try:
            with target.open("w", encoding="utf-8", newline="") as out:
                if self.format == "jsonl":
                    with self.path.open(encoding="utf-8-sig") as lines:
                        out.writelines(lines)
                else:
                    delimiter, header = self.dialect
                    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
                    writer.writerow(header)
                    for line, row in self.records(strict=True):
                        if len(row) != len(header):
                            raise refuse(self.name, misfit(len(row), len(header)), line=line, value=delimiter.join(row)[:80])
                        writer.writerow(row)
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        return TableFile(target, self._workspace, self.name, self.limit)

    def check_parquet(self, connection: duckdb.DuckDBPyConnection, columns: list[str]) -> None:
        """Refuse a Parquet file whose cells in these columns exceed the limit. Equal cells take next to no space in the file."""
        run = connection.execute
        sql = """select coalesce(sum(num_values), 0) from parquet_metadata($path)
            where list_bool_or([path_in_schema = c or starts_with(path_in_schema, c || ',')
                or starts_with(path_in_schema, c || '.') for c in $columns::varchar[]])"""
        values = run(sql, {"path": self.pattern, "columns": columns}).fetchall()[0][0]
        self.limit.take(int(values) * MIN_CELL_BYTES, self.name)
        table = f"from read_parquet($path, {PARQUET})"
        types = {row[0]: row[1] for row in run(f"describe {table}", {"path": self.pattern}).fetchall()}
        texts = [name for name in columns if types[name] == "VARCHAR"]
        if texts:
            lengths = ", ".join(f"sum(strlen({quoted(name)}))" for name in texts)
            self.limit.take(sum(filter(None, run(f"select {lengths} {table}", {"path": self.pattern}).fetchall()[0])), self.name)

    def damaged_parquet(self, error: Exception) -> Exception:
        cause = str(error).replace(self.pattern, self.name).replace(str(self.path), self.name).partition("\n\n")[0]
        again = "this Parquet file is damaged or cut short; write or download it again"
        return refuse(self.name, f"{again} ({cause[:MAX_CAUSE_LENGTH]})")

    def not_utf8(self) -> Exception:
        with self.path.open("rb") as file:
            for line, raw in enumerate(file, start=1):
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    where = raw[max(0, error.start - 10) : error.end + 10]
                    return refuse(self.name, NOT_UTF8, line=line, value=repr(where)[2:-1])
        return refuse(self.name, NOT_UTF8)


def size(count: int) -> str:
    """Return a number of bytes as text in whole GiB or MiB, rounded down."""
    return f"{count // 2**30:,} GiB" if count >= 2**30 else f"{count // 2**20:,} MiB"


def misfit(fields: int, expected: int) -> str:
    """Return the reason for refusing a row that does not have as many fields as the header."""
    return f"{counted(fields, 'field')} where the header has {expected}"


def _decompressed(path: Path, workspace: Path, name: str, limit: UnpackingLimit) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise refuse(name, f"the file cannot be read: {error.strerror}") from error
    if not magic:
        raise refuse(name, "the file is empty")
    module: Any
    if magic.startswith(GZIP):
        kind, module = "gzip", gzip
    elif magic == ZSTD:
        kind, module = "zstd", zstd
    else:
        return path
    target = workspace / f"{len(list(workspace.iterdir()))}.plain"
    written = 0
    try:
        with module.open(path, "rb") as compressed, target.open("wb") as out:
            while chunk := compressed.read(io.DEFAULT_BUFFER_SIZE * 16):
                limit.take(len(chunk), name)
                written += out.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError) as error:
        raise refuse(name, f"the {kind} data is damaged or cut short ({error}); create or download the file again") from error
    if not written:
        raise refuse(name, f"the {kind} file holds nothing")
    with target.open("rb") as file:
        if file.read(4).startswith((GZIP, ZSTD)):
            raise refuse(name, "this is compressed twice; decompress it once")
    return target


PLACE = "place"  # column of the frame that says where a row is in its document


class FrameFile:
    """The rows of one document. A column ``place`` says in words where a row is (``question 12``), for reports."""

    format: Literal["frame"] = "frame"

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.name = name
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        return [name for name in self.rows.columns if name != PLACE]

    def places_of(self, ordinals: set[int]) -> dict[int, Place]:
        """Return the places of some rows, given by ordinal, 1-based."""
        places = self.rows[PLACE] if PLACE in self.rows.columns else None
        return {ordinal: Place(None, None if places is None else places[ordinal - 1]) for ordinal in ordinals}
