"""Notes on the files of watched places: what became of each, so that no host reads it again."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import DamagedThing, KeptFiles, check_seal, seal, short_digest, unseal

EARLIER = "watched.json"  # where earlier versions noted the files of all places
WATCH_NOTES = KeptFiles("watched", check_seal)


class _Notes(msgspec.Struct):
    place: str
    files: dict[str, msgspec.Raw]  # by address


def read_notes(files: StoreFiles, place: str = "") -> dict[str, msgspec.Raw]:
    """Return the notes on the files of all places, by address. Of a file with several, the note of ``place`` counts.

    What is damaged is as if nothing was noted.
    """
    by_place: dict[str, dict[str, msgspec.Raw]] = {}
    for name in sorted(WATCH_NOTES.names(files)):
        with suppress(DamagedThing, msgspec.DecodeError):
            if (stored := WATCH_NOTES.read(files, name)) is not None:
                notes = msgspec.json.decode(unseal(stored.content), type=_Notes)
                by_place[notes.place] = notes.files
    known = tuple(f"{one.rstrip('/')}/" for one in by_place)
    noted = {address: note for address, note in _earlier_notes(files).items() if not address.startswith(known)}
    for one in sorted(by_place, key=lambda one: one == place):
        noted |= by_place[one]
    return noted


def _earlier_notes(files: StoreFiles) -> dict[str, msgspec.Raw]:
    stored = files.read_small(EARLIER)
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(stored.content, type=dict[str, msgspec.Raw]) if stored else {}
    return {}


def write_notes(files: StoreFiles, place: str, notes: dict[str, object]) -> None:
    """Replace the notes on the files of a place, durably. Raises ``StoreError``."""
    encoded = {address: msgspec.Raw(msgspec.json.encode(note)) for address, note in notes.items()}
    WATCH_NOTES.write(files, short_digest(place), seal(_Notes(place, encoded)))
