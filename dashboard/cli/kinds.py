"""What commands say about the kinds of things that a store holds (``data.store.kinds``)."""

from __future__ import annotations

from clueline.data.store.kept_files import Damage
from clueline.data.store.kinds import Kind

# By kind: what is damaged, and what to do. Only who uses a thing that is kept in a small file is affected.
DAMAGED = {
    "tokens": "The tokens are damaged. Restore tokens.json from a backup.",
    "sessions of people": "The log of sessions of people is damaged. To repair it, see docs/operations.md, Damaged files.",
    "stored selections": "Stored selections are damaged. Remove each: clueline selections clear ID",
    "mappings": "Mappings are damaged. Remove each, and keep it again: clueline mappings remove NAME",
    "notes on watched files": "Notes on watched files are damaged. Nothing is lost: the files are read again, and add nothing.",
}


def advice(kind: Kind) -> str:
    """Return sentences about damaged things of a kind."""
    return DAMAGED.get(kind.name, f"The {kind.name} are damaged. Remove their files, or restore them from a backup.")


def damage_line(kind: Kind, damage: Damage) -> str:
    """Return a line that names a damaged thing."""
    return f"{kind.name}: {damage.name} is damaged: {damage.reason}" if damage.name else damage.reason
