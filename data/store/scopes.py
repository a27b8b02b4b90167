"""What a kept thing belongs to, and who may therefore see, name and change it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

STORE = "store"  # the scope of what an administrator published for everybody who may read
OWNER, DATASET = "owner:", "dataset:"  # how the scopes of a person, token or user, and of a dataset begin


class Viewer(NamedTuple):
    """Who asks: the name as in ``Reader``, whether all is seen and changed, and the private datasets that are not."""

    name: str
    admin: bool = False
    hidden: Collection[str] = ()


def of_owner(name: str) -> str:
    """Return the scope of what is somebody's own."""
    return f"{OWNER}{name}"


def of_dataset(dataset: str) -> str:
    """Return the scope of what belongs to a dataset."""
    return f"{DATASET}{dataset}"


def may_see(viewer: Viewer, scope: str) -> bool:
    """Whether somebody may see and name what has a scope; whatever else there is does not exist for them."""
    if viewer.admin or scope == STORE:
        return True
    if scope.startswith(DATASET):
        return scope.removeprefix(DATASET) not in viewer.hidden
    return scope == of_owner(viewer.name)


def may_change(viewer: Viewer, scope: str) -> bool:
    """Whether somebody may replace or remove what has a scope."""
    return viewer.admin or scope == of_owner(viewer.name)
