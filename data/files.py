"""Files as they arrive: compressed or not, and which of the three table formats they are."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal

from data.report import refuse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Format = Literal["csv", "jsonl", "parquet"]
LONGEST_LINE = 16 * 1024 * 1024  # bytes; a model's reasoning can be long, an unclosed quote is longer
LARGEST = 64 * 2**30  # bytes that a compressed file or a zip may unpack to, unless told otherwise
HEADER = 1_000_000  # characters in which a header must end
DELIMITERS = ",\t;"
CHUNK = 1024 * 1024
PARQUET = "binary_as_string = true, hive_partitioning = false"
OPEN_QUOTE = "a quoted field is not closed, or text follows its closing quote; a quote inside a quoted field is written twice"


class Room:
    """Bytes that the packed files of one import may unpack to, all of them together."""

    def __init__(self, largest: int = LARGEST) -> None:
        self.largest = largest
        self._taken = 0

    def take(self, count: int, name: str) -> None:
        """Use some of it. Raises ``Refused`` where that is more than there is."""
        self._taken += count
        if self._taken > self.largest:
            raise refuse(name, f"the file unpacks to more than {size(self.largest)}")


class TableFile:
    """A file that holds a table, decompressed on disk.

    Attributes:
        name: what the analyst knows it as.
        path: the plain file.

    ``room``: what it may unpack to, shared with the other files of the import.
    """

    def __init__(self, path: Path, workspace: Path, name: str | None = None, room: Room | None = None) -> None:
        self.name = name or path.name
        self._workspace = workspace
        self.room = room or Room()
        self.path = _plain(path, workspace, self.name, self.room)

    @property
    def pattern(self) -> str:
        """The path as DuckDB's readers take it, which would read other files for ``run[1].csv``."""
        return re.sub(r"[\[*?]", r"[\g<0>]", str(self.path))

    @cached_property
    def format(self) -> Format:
        """Told apart by content, not by name."""
        with self.path.open("rb") as file:
            start = file.read(4096)
        if start.startswith(b"PAR1"):
            return "parquet"
        if self.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".parquet", ".pq")):
            raise refuse(self.name, "this is not a Parquet file: it does not begin with the bytes PAR1")
        first = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if first == b"[":
            raise refuse(self.name, "this is one JSON list; write JSON Lines, an object on each line", line=1)
        return "jsonl" if first == b"{" else "csv"

    @cached_property
    def dialect(self) -> tuple[str, list[str]]:
        """Delimiter and header of a CSV file."""
        try:
            with self._text() as lines:
                first = lines.readline(HEADER)
        except UnicodeDecodeError:
            raise self.not_utf8() from None
        if not first.strip():
            raise refuse(self.name, "the first line is blank; it must name the columns", line=1)
        if len(first) == HEADER or first.count('"') % 2:
            raise refuse(
                self.name,
                "the first line must name the columns; this one does not end, or leaves a quote open",
                line=1,
                value=first[:80],
            )
        delimiter = max(DELIMITERS, key=first.count)
        header = next(csv.reader([first], delimiter=delimiter))
        return delimiter, [column.strip() for column in header]

    @cached_property
    def columns(self) -> list[str]:
        """Column names, for recognition; of JSON Lines, the keys of the first object."""
        if self.format == "csv":
            return self.dialect[1]
        if self.format == "parquet":
            import duckdb

            try:
                with duckdb.connect() as connection:
                    return [
                        row[0]
                        for row in connection.execute(f"describe from read_parquet($1, {PARQUET})", [self.pattern]).fetchall()
                    ]
            except duckdb.Error as error:
                raise self.damaged_parquet(error) from error
        try:
            with self._text() as lines:
                first = json.loads(next((line for line in lines if line.strip()), "null"))
        except (UnicodeDecodeError, ValueError, RecursionError):
            return []
        return list(first) if isinstance(first, dict) else []

    def _text(self) -> IO[str]:
        return self.path.open(encoding="utf-8-sig", newline="")

    def lines_of(self, ordinals: set[int]) -> dict[int, int]:
        """Physical line, 1-based, of some rows, given by ordinal: for CSV a second pass, made only where a row is bad."""
        if self.format != "csv":
            return {ordinal: ordinal for ordinal in ordinals}
        found: dict[int, int] = {}
        for ordinal, (line, _) in enumerate(self.records(), start=1):
            if ordinal in ordinals:
                found[ordinal] = line
                if len(found) == len(ordinals):
                    break
        return found

    def records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """First physical line and fields of each row of a CSV file, header left out; blank lines are no rows.

        Raises:
            Refused: if ``strict`` and a quote is left open or followed by text.
        """
        with self._text() as lines:
            csv.field_size_limit(LONGEST_LINE)
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

    def lines_at(self, offsets: Iterable[int]) -> dict[int, int]:
        """Physical line, 1-based, in which byte offsets, 0-based, lie; behind the first half of a CR LF, the line has ended."""
        found: dict[int, int] = {}
        line, at, cr = 1, 0, False
        with self.path.open("rb") as file:
            for offset in sorted(offsets):
                while at < offset and (chunk := file.read(min(CHUNK, offset - at))):
                    line += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n") - (cr and chunk.startswith(b"\n"))
                    at, cr = at + len(chunk), chunk.endswith(b"\r")
                found[offset] = line
        return found

    def mixes_line_ends(self) -> bool:
        """Whether lines end in different ways, those within quotes among them."""
        counts = [0, 0, 0]
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                if chunk.endswith(b"\r"):
                    chunk += file.read(1)
                both = chunk.count(b"\r\n")
                counts = [counts[0] + both, counts[1] + chunk.count(b"\n") - both, counts[2] + chunk.count(b"\r") - both]
        return sum(map(bool, counts)) > 1

    def evened(self) -> TableFile:
        """A copy in which every row ends in the same way: DuckDB reads no file that mixes line ends.

        Raises:
            Refused: for a row that is not as wide as the header, and for quotes that do not close.
        """
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
        return TableFile(target, self._workspace, self.name, self.room)

    def damaged_parquet(self, error: Exception) -> Exception:
        """The refusal for a Parquet file that DuckDB cannot read."""
        said = str(error).splitlines()[0].replace(self.pattern, self.name).replace(str(self.path), self.name)
        return refuse(self.name, f"this Parquet file is damaged or cut short; write or fetch it again ({said})")

    def not_utf8(self) -> Exception:
        """The refusal for text that is not UTF-8, with the line where it stops being so."""
        with self.path.open("rb") as file:
            for line, raw in enumerate(file, start=1):
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    where = raw[max(0, error.start - 10) : error.end + 10]
                    return refuse(self.name, "the text is not UTF-8; save the file as UTF-8", line=line, value=repr(where)[2:-1])
        return refuse(self.name, "the text is not UTF-8; save the file as UTF-8")


def size(count: int) -> str:
    """A number of bytes as people say it."""
    return f"{count // 2**30:,} GiB" if count >= 2**30 else f"{count // 2**20:,} MiB"


def misfit(found: int, wanted: int) -> str:
    """What is wrong with a row of another width than the header."""
    return f"{found} {'field' if found == 1 else 'fields'} where the header has {wanted}"


def _plain(path: Path, workspace: Path, name: str, room: Room) -> Path:
    """The file itself or, where it is compressed, its content in a new file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise refuse(name, f"the file cannot be read: {error.strerror}") from error
    if not magic:
        raise refuse(name, "the file is empty")
    module: Any
    if magic[:2] == b"\x1f\x8b":
        kind, module = "gzip", gzip
    elif magic == b"\x28\xb5\x2f\xfd":
        kind, module = "zstd", zstd
    else:
        return path
    target = workspace / f"{len(list(workspace.iterdir()))}.plain"
    written = 0
    try:
        with module.open(path, "rb") as compressed, target.open("wb") as out:
            while chunk := compressed.read(io.DEFAULT_BUFFER_SIZE * 16):
                room.take(len(chunk), name)
                written += out.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError) as error:
        raise refuse(name, f"the {kind} data is damaged or cut short ({error}); make or fetch the file again") from error
    if not written:
        raise refuse(name, f"the {kind} file holds nothing")
    return target
