"""Stored selections: keys of addresses under a short id, for addresses that would be too long.

An id is a digest of its content. So the same selection has the same id, and what an id stands for never changes. Selections that
nobody uses end after a while. If there are too many of one reader, or in all, those that were not used for longest make room.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from clueline.data.store.errors import StoreError
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import DamagedThing, KeptFiles, check_seal, seal, short_digest, unseal

ID = re.compile(r"[a-z2-7]{20}")  # 100 bits
MAX_BYTES = 256 * 1024  # of one selection
MAX_STORED = 20_000  # of a store
MAX_OF_READER = 1_000  # of a store that one reader stored
Pairs = list[tuple[str, str]]


class SelectionsOfReader(msgspec.Struct):
    """Which selections a reader stored, oldest first, so that one reader cannot fill the store for others.

    Of a reader without a name, only a digest of the address is kept, as the name of the file.
    """

    by: str = ""
    selections: list[str] = []


class ListedSelection(NamedTuple):
    """A selection for its administrator. ``by`` is blank if its reader has no name or is not known."""

    selection: str
    used_at: datetime  # within a day
    by: str
    dataset: str  # blank if it is damaged


def selection_id(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the id of a selection, whatever the order of its keys and values."""
    return _id(_content(pairs))


def keep_selection(files: StoreFiles, pairs: Iterable[tuple[str, str]], by: str = "", address: str = "") -> str:
    """Store a selection durably for a reader, who has a name or an address, and return its id.

    Raises ``StoreError`` if it is too large, or the store cannot be written.
    """
    content = _content(pairs)
    if len(content) > MAX_BYTES:
        raise StoreError(f"a stored selection has at most {MAX_BYTES:,} bytes; this one has {len(content):,}")
    identity = _id(content)
    stored = [name for name, _ in SELECTIONS.in_order(files)]
    if identity in stored and _find(files, identity) is not None:
        return identity
    reader = short_digest(by or f"address {address}")
    of_reader = _of_reader(files, reader)
    of_reader.by = by
    of_reader.selections = [name for name in stored if name in {*of_reader.selections}]
    excess = of_reader.selections[: max(0, len(of_reader.selections) + 1 - MAX_OF_READER)]
    left = [name for name in stored if name not in excess]
    excess += left[: max(0, len(left) + 1 - MAX_STORED)]
    for name in excess:
        SELECTIONS.remove(files, name)
    # The list comes first: a selection that is in it, but was not stored because the process was killed, counts for nothing.
    of_reader.selections = [*(name for name in of_reader.selections if name not in excess), identity]
    READERS.write(files, reader, seal(of_reader))
    SELECTIONS.write(files, identity, content)
    return identity


def find_selection(files: StoreFiles, identity: str, days: int | None = None) -> Pairs | None:
    """Return the keys and values of a stored selection, sorted; None if there is none, or nobody used it for so many days.

    A damaged one counts as none. Raises ``StoreError``.
    """
    content = _find(files, identity, days)
    return None if content is None else msgspec.json.decode(content, type=Pairs)


def _find(files: StoreFiles, identity: str, days: int | None = None) -> bytes | None:
    if not ID.fullmatch(identity):
        return None
    try:
        file = SELECTIONS.read(files, identity)
    except DamagedThing:
        return None
    if file is None or (days is not None and file.written_at < datetime.now(UTC) - timedelta(days=days)):
        return None
    SELECTIONS.use(files, identity, file)
    return file.content


def list_selections(files: StoreFiles) -> list[ListedSelection]:
    """Return all selections, those that were not used for longest first. Reads all of them."""
    by: dict[str, str] = {}
    for reader in READERS.names(files):
        known = _of_reader(files, reader)
        by |= dict.fromkeys(known.selections, known.by)
    listed = []
    for name, used_at in SELECTIONS.in_order(files):
        dataset = ""
        with suppress(DamagedThing):
            if (file := SELECTIONS.read(files, name)) is not None:
                dataset = dict(msgspec.json.decode(file.content, type=Pairs)).get("dataset", "")
        listed.append(ListedSelection(name, used_at, by.get(name, ""), dataset))
    return listed


def clear_selections(files: StoreFiles, names: Iterable[str]) -> list[str]:
    """Remove selections, and return the ids of those that were there. Their addresses then say that there is none."""
    cleared = sorted({*names} & SELECTIONS.names(files))
    for name in cleared:
        SELECTIONS.remove(files, name)
    return cleared


def _of_reader(files: StoreFiles, reader: str) -> SelectionsOfReader:
    """Return the list of a reader; an empty one if there is none, or it is damaged: then what is in it counts for nobody."""
    try:
        file = READERS.read(files, reader)
        return msgspec.json.decode(unseal(file.content), type=SelectionsOfReader) if file else SelectionsOfReader()
    except (DamagedThing, msgspec.DecodeError):
        return SelectionsOfReader()


def _content(pairs: Iterable[tuple[str, str]]) -> bytes:
    return msgspec.json.encode(sorted(set(pairs)))


def _id(content: bytes) -> str:
    return base64.b32encode(hashlib.sha256(content).digest())[:20].decode().lower()


def _check(name: str, content: bytes) -> None:
    if _id(content) != name:
        raise ValueError("it is not what was written")


SELECTIONS = KeptFiles("selections", _check)
READERS = KeptFiles("selection-readers", check_seal)  # what ``SelectionsOfReader`` says
