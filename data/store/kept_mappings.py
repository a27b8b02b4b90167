"""Mappings of columns that people keep under a name. ``data.importing.column_mapping`` says what is in one.

A name belongs to its scope: two people can keep different mappings under one name, and neither learns of the other's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from clueline.data.store.errors import StoreError
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import DamagedThing, KeptFiles, check_seal, seal, short_digest, unseal
from clueline.data.store.scopes import DATASET, OWNER, STORE, Viewer, may_see, of_dataset, of_owner
from clueline.data.store.store import Store
from clueline.data.store.tokens_and_readers import RESERVED

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
MAX_OF_SCOPE = 100  # of one person, one dataset or the store
EARLIER = "system:earlier"  # the owner of mappings from before mappings had owners; only the operator sees and publishes them
MAPPINGS = KeptFiles("mappings", check_seal)


class KeepingError(ValueError):
    """A mapping cannot be read, stored or kept; the message says why."""


class NoSuchMapping(KeepingError):
    """There is no mapping of this name, or none that the viewer may see: they cannot be told apart."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no mapping {name!r}")


class KeptMapping(msgspec.Struct, frozen=True):
    """A mapping, as a TOML file. ``by`` kept it, as in an audit event."""

    name: str
    scope: str
    by: str
    kept_at: str  # ISO 8601, UTC
    toml: str


class Entry(msgspec.Struct, frozen=True):
    """A mapping that a viewer may see, without its content. It can be named ``shown``, or ``SCOPE/NAME``.

    ``scope`` is blank if it is a person's own: only what is in the file says whose.
    """

    file: str
    name: str
    place: str  # the scope, in a form that can be part of a file's name
    scope: str
    shown: str


def list_mappings(files: StoreFiles, viewer: Viewer) -> list[Entry]:
    """Return what a viewer may see, by name; of one name, first what the name alone stands for. Reads no mapping."""
    own, seen = _place(of_owner(viewer.name)), []
    for file in sorted(MAPPINGS.names(files)):
        name, _, place = file.partition(".")
        scope = _public_scope(place)
        if place == own or (viewer.admin and not scope):
            seen.append((name, 0 if place == own else 3, place, file))
        elif scope and may_see(viewer, scope):
            seen.append((name, 1 if scope == STORE else 2, place, file))
    ranks: dict[str, list[int]] = {}
    for name, rank, _, _ in sorted(seen):
        ranks.setdefault(name, []).append(rank)
    entries = []
    for name, rank, place, file in sorted(seen):
        stands_alone = rank == ranks[name][0] and ranks[name].count(rank) == 1
        entries.append(Entry(file, name, place, _public_scope(place), name if stands_alone else f"{place}/{name}"))
    return entries


def find_entry(files: StoreFiles, named: str, viewer: Viewer) -> Entry:
    """Return the entry of a mapping by its name, or by ``SCOPE/NAME``.

    A name alone stands for the viewer's own mapping, else for the published one, else for that of a dataset. Raises
    ``NoSuchMapping``, and ``KeepingError`` if it stands for several.
    """
    entries = list_mappings(files, viewer)
    scope, _, name = named.rpartition("/")
    for entry in entries:
        if named == entry.shown or (scope and name == entry.name and entry.place in (scope, _place(scope))):
            return entry
    if several := [entry for entry in entries if entry.name == named]:
        names = ", ".join(_whole_name(files, entry) for entry in several)
        raise KeepingError(f"several mappings are called {named!r}; name one of {names}")
    raise NoSuchMapping(named)


def find_mapping(files: StoreFiles, named: str, viewer: Viewer) -> KeptMapping:
    """Return the mapping of ``find_entry``. Raises as it does, and ``DamagedThing``."""
    return read_mapping_of(files, find_entry(files, named, viewer).file)


def _whole_name(files: StoreFiles, entry: Entry) -> str:
    with suppress(KeepingError, DamagedThing):
        return f"{read_mapping_of(files, entry.file).scope}/{entry.name}"
    return f"{entry.place}/{entry.name}"


def read_mapping_of(files: StoreFiles, file: str) -> KeptMapping:
    """Return the mapping of an entry. Raises ``NoSuchMapping`` if it was just removed, and ``DamagedThing``."""
    stored = MAPPINGS.read(files, file)
    if stored is None:
        raise NoSuchMapping(file.partition(".")[0])
    try:
        return msgspec.json.decode(unseal(stored.content), type=KeptMapping)
    except msgspec.DecodeError as error:
        raise DamagedThing(MAPPINGS.folder, file, str(error)) from error


def keep_mapping(
    files: StoreFiles,
    name: str,
    toml: str,
    scope: str,
    by: str,
    *,
    replace: bool = False,
    record: Callable[[], None] = lambda: None,
) -> KeptMapping:
    """Keep a mapping under a name of a scope. Raises ``KeepingError``, also if the name is taken and it may not be replaced.

    ``record`` is called before anything is written, once nothing speaks against it.
    """
    if not NAME.fullmatch(name):
        raise KeepingError("a mapping has a name of at most 40 characters of a-z, 0-9 and -")
    file = f"{name}.{_place(scope)}"
    of_scope = {known for known in MAPPINGS.names(files) if known.partition(".")[2] == _place(scope)}
    if file in of_scope and not replace:
        with suppress(DamagedThing, NoSuchMapping):  # a damaged one is of no use
            if (known := read_mapping_of(files, file)).toml == toml:
                return known
            raise KeepingError(f"another one is called {name!r}; choose another name")
    if file not in of_scope and len(of_scope) >= MAX_OF_SCOPE:
        raise KeepingError(f"{MAX_OF_SCOPE} are kept, as many as can be; remove one first")
    kept = KeptMapping(name, scope, by, datetime.now(UTC).isoformat(timespec="seconds"), toml)
    record()
    MAPPINGS.write(files, file, seal(kept))
    return kept


def remove_mapping(files: StoreFiles, entry: Entry) -> None:
    """Remove a mapping, damaged or not."""
    MAPPINGS.remove(files, entry.file)


def take_over_earlier(local: Path, files: StoreFiles, *, remove: bool = True) -> None:
    """Keep the mappings that earlier versions kept as TOML files in a folder of this host. What cannot be read stays there.

    They become the operator's own: whoever could upload kept them, so nobody has decided that all may see them.
    """
    for path in sorted((local / MAPPINGS.folder).glob("*.toml")):
        with suppress(OSError, StoreError, ValueError):
            toml = path.read_bytes().decode()
            if not msgspec.toml.decode(toml).keys() >= {"columns", "roles"}:
                continue
            name = re.sub(r"[^a-z0-9-]+", "-", path.stem.lower()).strip("-")[:40] or "earlier"
            if not _keep_under_free_name(files, name, toml, EARLIER):
                continue
            if remove:
                path.unlink()


def earlier_files(local: Path) -> list[str]:
    """Return the names of files of earlier versions that were not taken over, because they cannot be read or not be moved."""
    return sorted(path.name for path in (local / MAPPINGS.folder).glob("*.toml"))


def copy_mappings(source: Store, target: Store, same_tokens: Iterable[str] | None) -> None:
    """Copy the mappings that a store lacks. Those of a token that is not the same there become the operator's own.

    ``same_tokens`` are the names of tokens that are; None if all are.
    """
    take_over_earlier(source.local, source.files)
    take_over_earlier(source.local, target.files, remove=False)  # if the source can only be read
    for file in sorted(MAPPINGS.names(source.files) - MAPPINGS.names(target.files)):
        with suppress(DamagedThing, NoSuchMapping):
            kept = read_mapping_of(source.files, file)
            if same_tokens is None or not _is_of_token(kept.scope) or kept.scope.removeprefix(OWNER) in same_tokens:
                MAPPINGS.write(target.files, file, seal(kept))
            else:
                _keep_under_free_name(target.files, kept.name, kept.toml, kept.by)


def _is_of_token(scope: str) -> bool:
    """Whether a scope is that of a token. Users of a proxy and of the system are the same ones everywhere."""
    owner = scope.removeprefix(OWNER)
    return scope.startswith(OWNER) and ":" not in owner and owner not in RESERVED


def _keep_under_free_name(files: StoreFiles, name: str, toml: str, by: str) -> bool:
    """Keep a mapping as the operator's own, and return whether that was possible."""
    for number in range(1, 10):
        with suppress(KeepingError):
            keep_mapping(files, name if number == 1 else f"{name[:37]}-{number}", toml, of_owner(EARLIER), by)
            return True
    return False


_AT_OWNER, _AT_DATASET = "owner-", "dataset-"


def _public_scope(place: str) -> str:
    """Return the scope of a ``_place`` unless it is a person's own; blank then."""
    if place.startswith(_AT_DATASET):
        return of_dataset(unquote(place.removeprefix(_AT_DATASET)))
    return STORE if place == STORE else ""


def _place(scope: str) -> str:
    """Return a scope as a part of a file's name: that of a dataset can be read from it, that of a person cannot."""
    if scope.startswith(OWNER):
        return f"{_AT_OWNER}{short_digest(scope)}"
    if scope.startswith(DATASET):
        return f"{_AT_DATASET}{quote(scope.removeprefix(DATASET), safe='')}"
    return scope
