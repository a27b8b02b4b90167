"""Datasets published by others: where their files are, and how they are imported. ``facts/public_datasets.json`` lists them."""

from __future__ import annotations

import hashlib
import http.client
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote, urljoin
from urllib.request import urlopen

import msgspec

from clueline.data.importing.staging import ImportOptions

TABLE = Path(__file__).parent / "facts" / "public_datasets.json"
SECONDS = 30.0  # without a byte before a download is given up
PIECE = 2**16  # bytes


class DownloadError(Exception):
    """A file cannot be fetched, or is not the expected one. The message is a sentence."""


class PublicFile(msgspec.Struct, frozen=True):
    """A file of a dataset. ``path`` is relative to the dataset's address."""

    path: str
    sha256: str
    bytes: int


class PublicImport(msgspec.Struct, frozen=True):
    """Files that are imported together, and the options that are stated for them."""

    format: str
    files: tuple[PublicFile, ...]
    dataset: str | None = None
    model: str | None = None
    classes: tuple[str, ...] = ()

    def options(self) -> ImportOptions:
        return ImportOptions(form=self.format, dataset=self.dataset, model=self.model, classes=self.classes)


class PublicDataset(msgspec.Struct, frozen=True):
    """A dataset with its licence and source. ``address`` is that of one commit, so its files never change."""

    key: str
    title: str
    licence: str
    source: str
    address: str
    imports: tuple[PublicImport, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for part in self.imports for file in part.files)


def public_datasets(table: Path = TABLE) -> dict[str, PublicDataset]:
    """Return the public datasets by key."""
    datasets = msgspec.json.decode(table.read_bytes(), type=list[PublicDataset])
    return {dataset.key: dataset for dataset in datasets}


def download(address: str, file: PublicFile, folder: Path) -> Path:
    """Fetch a file from below an address into a folder, compare its checksum, and return its path. Raises ``DownloadError``."""
    url, target, digest, size = urljoin(address, quote(file.path)), folder / Path(file.path).name, hashlib.sha256(), 0
    try:
        with urlopen(url, timeout=SECONDS) as answer, target.open("wb") as out:
            while size <= file.bytes and (piece := answer.read(PIECE)):
                out.write(piece)
                digest.update(piece)
                size += len(piece)
    except (URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{url} cannot be fetched: {reason}") from error
    if digest.hexdigest() != file.sha256:
        raise DownloadError(f"{url} differs from the file that this version knows; nothing of it was imported")
    return target
