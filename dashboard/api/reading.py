"""Reading the query string of an address; whatever it names and does not exist raises ``BadRequest``."""

from __future__ import annotations

from collections.abc import Sequence

from flask import request

from queries.metrics import CATALOGUE, METRICS, Metric
from queries.selection import BadRequest


def pairs() -> list[tuple[str, str]]:
    """Keys and values of this request, in order."""
    return list(request.args.items(multi=True))


def no_keys() -> None:
    """Refuse every key."""
    for key in request.args:
        raise BadRequest("unknown_key", f"There is no key {key!r} here; this address takes none.", key)


def only_keys(*keys: str) -> dict[str, str | None]:
    """The values of keys that may be given once each; refuse every other key."""
    for key, values in request.args.lists():
        if key not in keys:
            raise BadRequest("unknown_key", f"There is no key {key!r} here.", key, keys)
        if len(values) > 1:
            raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
    return {key: request.args.get(key) for key in keys}


def metrics_of(named: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of a ``metrics=a,b`` key; all of them where it is absent."""
    keys = [key for part in named for key in part.split(",")]
    for key in keys:
        if key not in CATALOGUE:
            raise BadRequest("unknown_value", f"There is no metric {key!r}.", "metrics", list(CATALOGUE))
    return tuple(CATALOGUE[key] for key in dict.fromkeys(keys)) if named else METRICS


def single(extra: dict[str, list[str]], key: str) -> str | None:
    """The value of a key of the address's own that may be given once."""
    if len(extra[key]) > 1:
        raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
    return extra[key][0] if extra[key] else None


def choice(extra: dict[str, list[str]], key: str, allowed: Sequence[str]) -> str:
    """The value of a key of the address's own that is one of a few; the first of them where it is absent."""
    value = single(extra, key)
    if value is not None and value not in allowed:
        raise BadRequest("unknown_value", f"{key!r} cannot be {value!r}.", key, allowed)
    return allowed[0] if value is None else value


def whole(extra: dict[str, list[str]], key: str, default: int, most: int) -> int:
    """The value of a key of the address's own that is a whole number from 1."""
    text = single(extra, key)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= most:
        raise BadRequest("bad_value", f"{key} must be a whole number from 1 to {most}, not {text!r}.", key)
    return int(text)
