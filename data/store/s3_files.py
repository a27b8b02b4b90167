"""The files of a store in S3. Each host copies the files that it reads to its own folder, and reads the copies."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

from clueline.data.store.files import (
    CATALOGUE,
    DRAFT,
    OBJECTS,
    CatalogueFile,
    ListedFile,
    SmallFile,
    StoreFiles,
    make_folder,
    oldest_first,
    open_restricted,
    restrict,
)

LOCAL_BYTES = 20 * 2**30  # of copies; above this, those that have not been read for long are removed
MAX_RESERVE = 2**30  # bytes; a twentieth of the disk, or this if it is less, is left free
IN_USE = 900.0  # seconds; a copy that was read more recently is never removed
BETWEEN_SWEEPS = 60.0  # seconds
RETRY_FOR = timedelta(seconds=30)


def open_bucket(url: str) -> S3Store:
    """Open ``s3://BUCKET/PREFIX`` with the keys, region and endpoint of the usual variables ``AWS_*``. Raises ``BaseError``."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    return S3Store.from_url(
        url,
        client_options={"allow_http": endpoint.startswith("http://"), "timeout": "60s", "connect_timeout": "5s"},
        retry_config={"max_retries": 8, "retry_timeout": RETRY_FOR},
        config={"endpoint": endpoint} if endpoint else None,
    )


class S3Files(StoreFiles):
    """The files of a store in a bucket.

    Files never change, so a copy stays valid. DuckDB and the code that compares checksums both read a copy like any local file:
    what was compared is what is read.

    ``root`` is the folder for copies, and ``capacity`` the bytes of copies to keep. Raises ``OSError`` if the address or the
    environment variables cannot be used.
    """

    copied = True

    def __init__(self, url: str, root: Path, capacity: int = LOCAL_BYTES) -> None:
        super().__init__(root)
        self.url = url
        self.capacity = capacity
        self._lock = threading.Lock()
        self._swept_at = 0.0
        with self._translated(url):
            self._store = open_bucket(url)

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        try:
            yield
        except (NotFoundError, FileNotFoundError):
            raise FileNotFoundError(f"{self.url}/{name} does not exist") from None
        except BaseError as error:
            raise OSError(f"{self.url} cannot be reached ({str(error).splitlines()[0][:300]})") from error

    def path(self, name: str) -> Path:
        path = self.root / name
        try:
            os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))  # read now, not changed
        except FileNotFoundError:
            self._fetch(name, path)
        return path

    def _fetch(self, name: str, path: Path) -> None:
        make_folder(path.parent)
        draft = path.with_name(f"{path.name}-{secrets.token_hex(4)}{DRAFT}")
        try:
            with self._translated(name), open(draft, "wb", opener=open_restricted) as file:
                for chunk in obstore.get(self._store, name).stream(min_chunk_size=4 * 2**20):
                    file.write(chunk)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._sweep_copies()

    def _sweep_copies(self) -> None:
        """Remove drafts of killed processes and, while there are too many bytes, the copies that were last read longest ago."""
        with self._lock:
            now = time.time()
            if now < self._swept_at + BETWEEN_SWEEPS:
                return
            self._swept_at = now
        copies = []
        for path in (*self.root.glob("gen-*.duckdb*"), *(self.root / OBJECTS).rglob("*")):
            with suppress(OSError):
                if path.is_file():
                    stat = path.stat()
                    copies.append((stat.st_atime, stat.st_size, path))
        total = sum(size for _, size, _ in copies)
        disk = shutil.disk_usage(self.root)
        most = min(self.capacity, total + disk.free - min(MAX_RESERVE, disk.total // 20))
        for read_at, size, path in sorted(copies):
            if read_at > now - IN_USE:
                break
            if total > most or path.name.endswith(DRAFT):
                path.unlink(missing_ok=True)
                total -= size

    def exists(self, name: str) -> bool:
        try:
            with self._translated(name):
                obstore.head(self._store, name)
        except FileNotFoundError:
            return False
        return True

    def draft(self, name: str) -> Path:
        draft = self.root / f"{name}-{secrets.token_hex(4)}{DRAFT}"
        make_folder(draft.parent)
        return draft

    def add(self, name: str, draft: Path) -> None:
        """Upload a file. The draft becomes the local copy."""
        with self._translated(name):
            obstore.put(self._store, name, draft)
        restrict(draft)
        draft.replace(self.root / name)

    def remove(self, name: str) -> None:
        """Local copies stay for readers until the space is needed."""
        with suppress(FileNotFoundError), self._translated(name):
            obstore.delete(self._store, name)

    def renew_copy(self, name: str) -> None:
        self._fetch(name, self.root / name)

    def catalogues(self) -> list[CatalogueFile]:
        with self._translated(""):
            listed = obstore.list_with_delimiter(self._store)["objects"]
        files = (CatalogueFile(file["path"], file["size"], file["last_modified"]) for file in listed)
        return oldest_first(file for file in files if CATALOGUE.fullmatch(file.name))

    def objects(self) -> set[str]:
        return {file.name for file in self.listed(OBJECTS) if file.name.count("/") == 4}

    def listed(self, folder: str) -> list[ListedFile]:
        with self._translated(folder):
            present = [
                ListedFile(file["path"], file["size"], file["last_modified"])
                for files in obstore.list(self._store, prefix=folder)
                for file in files
            ]
        return sorted(present, key=lambda file: (file.written_at, file.name))

    def read_small(self, name: str) -> SmallFile | None:
        try:
            with self._translated(name):
                answer = obstore.get(self._store, name)
                written_at = answer.meta["last_modified"]
                return SmallFile(bytes(answer.bytes()), written_at)
        except FileNotFoundError:
            return None

    def write_small(self, name: str, content: bytes) -> None:
        with self._translated(name):
            obstore.put(self._store, name, content)

    def renew(self, name: str) -> None:
        """Write it again: only that changes when it was written."""
        known = self.read_small(name)
        if known is not None:
            self.write_small(name, known.content)

    def sweep_drafts(self) -> None:
        """Do nothing: drafts are local, and are removed like copies."""
