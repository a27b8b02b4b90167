"""A path to import: a file, a folder or a zip."""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import shutil
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from clueline.data.importing.report import Refused, refuse
from clueline.data.importing.staging import Staging
from clueline.data.importing.table_files import MAX_LINE_LENGTH, TableFile, UnpackingLimit, size

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile  # also reads members compressed with zstd

MAX_MEMBERS = 250_000  # of a zip; an evaluation log has one member per sample
START = 65_536  # bytes at the start of a file by which readers may recognise it
MAX_DOCUMENT_BYTES = 2**30  # bytes of a JSON document, which is read into memory as a whole
# Members of Inspect AI logs, which are appended to: of several files with the same name the last counts, as in Inspect AI.
APPENDED = {"header.json", "_journal/start.json"}
ENCRYPTED = 1  # flag of a member of a zip
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)  # not the fault of the zip


def zip_member(path: Path, name: str) -> bytes | None:
    """Return a file of a zip; None if the zip has none, or cannot be read."""
    errors = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, OSError, NotImplementedError, RuntimeError)
    with suppress(*errors), zipfile.ZipFile(path) as archive:
        return archive.read(name)
    return None


def files_below(folder: Path, *endings: str) -> Iterator[Path]:
    """Yield the files below a folder with these endings in any case. Hidden ones, and those that macOS adds, are left out."""
    paths: list[str] = []  # a log has a file for each sample, and texts are sorted ten times as fast as paths
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__MACOSX"]
        chosen = (name for name in names if name.lower().endswith(endings or "") and not name.startswith("."))
        paths += filter(os.path.isfile, (os.path.join(place, name) for name in chosen))
    yield from map(Path, sorted(paths, key=lambda path: path.split(os.sep)))


def without_copies(files: Sequence[Incoming]) -> tuple[list[Incoming], list[str]]:
    """Return files without those that equal an earlier one byte by byte, and a sentence about each of these."""
    first: dict[bytes, str] = {}
    kept, sentences = [], []
    for file in files:
        with file.path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").digest()
        if digest in first:
            sentences.append(f"{file.name}: the same as {first[digest]}, read once")
        else:
            first[digest] = file.name
            kept.append(file)
    return kept, sentences


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, by which a reader may recognise it."""
    with path.open("rb") as file:
        return file.read(START)


class Incoming:
    """A file, folder or zip to read. It is unpacked and opened only when a property needs it."""

    def __init__(self, path: Path, staging: Staging, name: str | None = None, password: str | None = None) -> None:
        self.path = path
        self._password = password
        self.name = name or path.name or str(path)
        self.unreadable: Refused | None = None  # why no columns could be read
        self.staging = staging
        self._parts: dict[Path, Incoming] = {}
        if not path.exists():
            raise refuse(str(path), "there is no such file or folder")

    @cached_property
    def folder(self) -> Path | None:
        if self.path.is_dir():
            return self.path
        if not _begins_like_a_zip(self.path) or self.is_workbook:
            return None
        target = self.staging.workspace / f"{len(list(self.staging.workspace.iterdir()))}.zip"
        target.mkdir()
        damages = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, LookupError, ValueError, OSError)
        try:
            with zipfile.ZipFile(self.path) as archive:
                _unpack(archive, target, self.name, self.staging.limit, self._password)
        except damages as error:
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            cause = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise refuse(self.name, f"the zip is damaged or cut short ({cause}); create or download it again") from error
        except RecursionError as error:
            raise refuse(self.name, "the zip cannot be unpacked: its folders are nested too deeply") from error
        except (NotImplementedError, RuntimeError) as error:  # compressed or encrypted in a way that Python does not support
            raise refuse(self.name, f"the zip cannot be unpacked: {error}") from error
        # A zip of a folder holds one folder, and the files that macOS adds.
        contents = [path for path in target.iterdir() if path.name != "__MACOSX" and not path.name.startswith(".")]
        return contents[0] if len(contents) == 1 and contents[0].is_dir() else target

    @cached_property
    def is_workbook(self) -> bool:
        """Whether this is a workbook of Excel, which is a zip. Its size counts as if it were unpacked. Raises ``Refused``."""
        if not self.path.is_file() or not _begins_like_a_zip(self.path):
            return False
        with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError), zipfile.ZipFile(self.path) as archive:
            if "xl/workbook.xml" in archive.namelist():
                self.staging.limit.take(sum(member.file_size for member in archive.infolist()), self.name)
                return True
        return False

    @cached_property
    def file(self) -> TableFile:
        return self.staging.open(self.path, self.name)

    def files(self, *endings: str) -> list[Incoming]:
        """Return the files of the folder with these endings, or the single file itself."""
        if self.folder is None:
            return [self]
        paths = {str(path.relative_to(self.folder)): path for path in files_below(self.folder, *endings)}
        return [Incoming(path, self.staging, f"{self.name}/{name}", self._password) for name, path in paths.items()]

    def part(self, path: Path) -> Incoming:
        """Return a file or folder below the folder, or itself. Readers that ask for the same one share it: it is opened once."""
        if path not in self._parts:
            below = path.relative_to(self.folder) if self.folder else path.name
            self._parts[path] = Incoming(path, self.staging, str(Path(self.name) / below), self._password)
        return self._parts[path]

    @cached_property
    def start(self) -> bytes:
        """The first bytes of a single file, decompressed; empty for a folder or a file that cannot be read."""
        if self.folder:
            return b""
        try:
            return beginning(self.file.path)
        except Refused as refused:
            self.unreadable = refused
            return b""

    @cached_property
    def document(self) -> object:
        """The content of a file that is one JSON document; None for any other file, also for JSON Lines of several lines."""
        start = self.start.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start[:1] not in (b"{", b"["):
            return None
        try:
            return self._read_document()
        except Refused as refused:
            self.unreadable = refused
            return None

    def as_lines(self) -> Incoming | None:
        """Return a file that is one JSON list of objects as JSON Lines with the same content; None for any other file."""
        entries = self.document
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            return None
        target = self.staging.workspace / f"{len(list(self.staging.workspace.iterdir()))}.lines"
        with target.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(entry) + "\n" for entry in entries)
        return Incoming(target, self.staging, self.name, self._password)

    def require_document(self) -> object:
        """Return the content of a file that must be one JSON document. Raises ``Refused`` if it is not."""
        document = self.document
        if document is None:
            raise self.unreadable or refuse(self.name, "this is not a JSON document")
        return document

    def _read_document(self) -> object:
        path = self.file.path
        try:
            with path.open(encoding="utf-8-sig") as lines:
                first = lines.readline(MAX_LINE_LENGTH)
                if any(line.strip() for line in lines) and _is_json(first):  # a document of one line is parsed once
                    return None
            if path.stat().st_size > MAX_DOCUMENT_BYTES:
                raise refuse(self.name, f"a JSON document can have at most {size(MAX_DOCUMENT_BYTES)}")
            return json.loads(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            raise self.file.not_utf8() from None
        except json.JSONDecodeError as error:
            reason = f"this is not valid JSON: {error.msg}, at character {error.colno}"
            raise refuse(self.name, reason, line=error.lineno) from error
        except RecursionError:
            raise refuse(self.name, "this JSON nests too deeply") from None
        except ValueError as error:  # an integer with thousands of digits
            raise refuse(self.name, f"this is not valid JSON: {error}") from error

    @property
    def columns(self) -> set[str]:
        """Column names of a single file; empty for a folder or a file that cannot be read as a table."""
        if self.folder:
            return set()
        try:
            return set(self.file.columns)
        except Refused as refused:
            problem = self.unreadable.problems[0] if self.unreadable else None
            if not problem or (problem.line or 1) == 1:  # otherwise the JSON error says more precisely where it breaks
                self.unreadable = refused
            return set()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _begins_like_a_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _unpack(archive: zipfile.ZipFile, target: Path, name: str, limit: UnpackingLimit, password: str | None) -> None:
    """Unpack members one by one, none to more than its stated size. Refuse paths out of the folder, and sizes over the limit."""
    if len(archive.infolist()) > MAX_MEMBERS:
        raise refuse(name, f"the zip holds more than {MAX_MEMBERS:,} files")
    names = Counter(archive.namelist())
    repeated = [path for path, count in names.items() if count > 1]
    if repeated and not names.keys() & APPENDED:
        raise refuse(name, "the zip holds two files with the same name", value=repeated[0][:80])
    limit.take(sum(member.file_size for member in archive.infolist()), name)
    encrypted = [member for member in archive.infolist() if member.flag_bits & ENCRYPTED]
    if encrypted:
        _check_password(archive, min(encrypted, key=lambda member: member.file_size or sys.maxsize), name, password)
    root, made = str(target.resolve()), set()
    for member in archive.infolist():
        path = os.path.normpath(os.path.join(root, member.filename))  # nothing in it is a link: members become plain files
        if path != root and not path.startswith(root + os.sep):
            raise refuse(name, "the zip holds a path that leads out of it", value=member.filename)
        if member.is_dir():
            continue
        if (parent := os.path.dirname(path)) not in made:
            Path(parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        with archive.open(member) as packed, open(path, "wb") as out:
            shutil.copyfileobj(packed, out)


def _check_password(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, password: str | None) -> None:
    """Set the password of ``archive`` and try it on ``member``. Raises ``Refused`` if it is missing or wrong."""
    if not password:
        raise refuse(name, "the zip is encrypted; a password is needed to open it", hint="password")
    archive.setpassword(password.encode())
    try:
        with archive.open(member) as packed:
            while packed.read(65_536):
                pass
    except RuntimeError as error:
        if "password" not in str(error):
            raise
        raise refuse(name, "the password does not open the zip", hint="password") from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        # Only one byte identifies a wrong password: one in 256 gets past it, and unpacks to nonsense.
        raise refuse(name, "the password does not open the zip, or the zip is damaged", hint="password") from None
