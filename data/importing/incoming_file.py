"""A path to import: a file, a folder or a zip of files."""

from __future__ import annotations

import errno
import lzma
import shutil
import struct
import zipfile
import zlib
from collections import Counter
from functools import cached_property
from pathlib import Path

from data.importing.report import Refused, refuse
from data.importing.staging import Staging
from data.importing.table_files import TableFile, UnpackingLimit

MOST_MEMBERS = 10_000  # of a zip
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)  # not the fault of the zip


class Incoming:
    """What is to be read. It is unpacked and opened only when a property needs it."""

    def __init__(self, path: Path, staging: Staging, name: str | None = None) -> None:
        self.path = path
        self.name = name or path.name or str(path)
        self.unreadable: Refused | None = None  # why it has no columns
        self._staging = staging
        if not path.exists():
            raise refuse(str(path), "there is no such file or folder")

    @cached_property
    def folder(self) -> Path | None:
        """The folder or the unpacked zip; None for a single file."""
        if self.path.is_dir():
            return self.path
        if not _begins_like_a_zip(self.path):
            return None
        target = self._staging.workspace / f"{len(list(self._staging.workspace.iterdir()))}.zip"
        target.mkdir()
        try:
            with zipfile.ZipFile(self.path) as archive:
                _unpack(archive, target, self.name, self._staging.limit)
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            struct.error,
            EOFError,
            LookupError,
            ValueError,
            OSError,
        ) as error:
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            cause = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise refuse(self.name, f"the zip is damaged or cut short ({cause}); make or fetch it again") from error
        except RecursionError as error:
            raise refuse(self.name, "the zip cannot be unpacked: it holds folders too deep in each other") from error
        except (NotImplementedError, RuntimeError) as error:  # encrypted, or packed in a way that Python does not know
            raise refuse(self.name, f"the zip cannot be unpacked: {error}") from error
        if (target / "xl" / "workbook.xml").is_file():
            raise refuse(self.name, "this is an Excel workbook; save its sheet as CSV (UTF-8)")
        # A zip of a folder holds one folder, and the files that macOS adds.
        contents = [path for path in target.iterdir() if path.name != "__MACOSX" and not path.name.startswith(".")]
        return contents[0] if len(contents) == 1 and contents[0].is_dir() else target

    @cached_property
    def file(self) -> TableFile:
        """The single file, decompressed."""
        return self._staging.open(self.path, self.name)

    @property
    def columns(self) -> set[str]:
        """Column names of a single file; empty for a folder and for a file that cannot be read as a table."""
        if self.folder:
            return set()
        try:
            return set(self.file.columns)
        except Refused as refused:
            self.unreadable = refused
            return set()


def _begins_like_a_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _unpack(archive: zipfile.ZipFile, target: Path, name: str, limit: UnpackingLimit) -> None:
    """Unpack members one by one. Refuse names that lead out of the folder, and sizes over the limit.

    A member never unpacks to more than it states: there zipfile stops and reports damage.
    """
    if len(archive.infolist()) > MOST_MEMBERS:
        raise refuse(name, f"the zip holds more than {MOST_MEMBERS:,} files")
    if repeated := [path for path, count in Counter(archive.namelist()).items() if count > 1]:
        raise refuse(name, "the zip holds two files of one name", value=repeated[0][:80])
    limit.take(sum(member.file_size for member in archive.infolist()), name)
    root = target.resolve()
    for member in archive.infolist():
        path = (target / member.filename).resolve()
        if not path.is_relative_to(root):
            raise refuse(name, "the zip holds a path that leads out of it", value=member.filename)
        if member.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as packed, path.open("wb") as out:
            shutil.copyfileobj(packed, out)
