"""Clueline: how well language models know what they know. ``Client`` reads a server; ``clueline`` is the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clueline.dashboard.client import Client, ClientError

__all__ = ["Client", "ClientError"]


def __getattr__(name: str) -> Any:
    # Imported when it is used, for most of Clueline does without httpx.
    if name in __all__:
        from clueline.dashboard import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
