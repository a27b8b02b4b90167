"""Stored selections: keys of addresses under a short id, for addresses that would be too long.

An id is a digest of its content. So the same selection has the same id, and what an id stands for never changes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections.abc import Iterable

import msgspec

from clueline.data.store.errors import StoreError, reason
from clueline.data.store.files import StoreFiles

FOLDER = "selections"
ID = re.compile(r"[a-z2-7]{20}")  # 100 bits
MAX_BYTES = 256 * 1024  # of one selection
MAX_STORED = 20_000  # of a store
Pairs = list[tuple[str, str]]


def selection_id(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the id of a selection, whatever the order of its keys and values."""
    return _id(_content(pairs))


def keep_selection(files: StoreFiles, pairs: Iterable[tuple[str, str]]) -> str:
    """Store a selection durably, and return its id. Raises ``StoreError`` if it is too large, or the store cannot hold it."""
    content = _content(pairs)
    if len(content) > MAX_BYTES:
        raise StoreError(f"a stored selection has at most {MAX_BYTES:,} bytes; this one has {len(content):,}")
    identity = _id(content)
    name = _name(identity)
    try:
        if not files.exists(name):
            if len(files.names(FOLDER)) >= MAX_STORED:
                raise StoreError(f"the store holds {MAX_STORED:,} selections, as many as it can")
            _add(files, name, content)
    except OSError as error:
        raise StoreError(f"the selection cannot be stored in this store: {reason(error)}") from error
    return identity


def find_selection(files: StoreFiles, identity: str) -> Pairs | None:
    """Return the keys and values of a stored selection, sorted; None if there is none. Raises ``StoreError``."""
    if not ID.fullmatch(identity):
        return None
    try:
        text = files.read_notes(_name(identity))
        if text is None or _id(text.encode()) != identity:  # not what was written
            return None
        return msgspec.json.decode(text, type=Pairs)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"the stored selection cannot be read: {error}") from error


def copy_selections(source: StoreFiles, target: StoreFiles) -> None:
    """Copy the selections that a store lacks from another one. Raises ``OSError``."""
    for name in sorted(source.names(FOLDER) - target.names(FOLDER)):
        draft = target.draft(name)
        shutil.copyfile(source.path(name), draft)
        target.add(name, draft)


def _add(files: StoreFiles, name: str, content: bytes) -> None:
    draft = files.draft(name)
    try:
        draft.write_bytes(content)
        files.add(name, draft)
    except FileNotFoundError:
        if not files.exists(name):  # another process has not just stored the same
            raise


def _content(pairs: Iterable[tuple[str, str]]) -> bytes:
    return msgspec.json.encode(sorted(set(pairs)))


def _id(content: bytes) -> str:
    return base64.b32encode(hashlib.sha256(content).digest())[:20].decode().lower()


def _name(identity: str) -> str:
    return f"{FOLDER}/{identity}.json"
