"""Signed links: an address with a signature that opens it without a token, until a date.

The signature covers the path, the keys of the address (see ``UNSIGNED_KEYS`` for exceptions) and the dataset. A page that was
opened by a link signs the addresses that it fetches for its view, such as its table as CSV, until the same date.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

import msgspec
from itsdangerous import BadData, URLSafeSerializer

KEY = "signed"  # the key of the signature in the query string
ROWS = "/_rows"  # address of the rows of the question list, which are fetched a few at a time
UNSIGNED_KEYS = frozenset({KEY, "theme"})  # keys that the signature does not cover
FREE_OF_ROWS = UNSIGNED_KEYS | {
    "start",
    "count",
    "sort",
}  # ``dashboard.views.questions.page.rows`` refuses orders that show more
SALT = "clueline signed link"
Pairs = Iterable[tuple[str, str]]
T = TypeVar("T")


class SignedLink(NamedTuple):
    """What a signed link opens: one dataset, until it expires."""

    dataset: str
    until: datetime


def sign(key: str, path: str, pairs: Pairs, dataset: str, until: datetime) -> str:
    """Return the signature of an address, the value of its key ``signed``.

    ``key`` is the signing key of the store, see ``AccessRecord.link_key``. The path is without percent-encoding. The link shows
    only ``dataset``.
    """
    return write(key, SALT, (int(until.timestamp()), dataset, _digest(path, pairs)))


def open_link(key: str, signature: str, path: str, pairs: Pairs, now: float | None = None) -> SignedLink | None:
    """Return what a signed link opens; None if the signature does not match this address or has expired.

    >>> signature = sign("secret", "/", [("dataset", "lab")], "lab", datetime.fromtimestamp(1000))
    >>> open_link("secret", signature, "/", [("dataset", "lab"), ("theme", "dark")], now=999).dataset
    'lab'
    >>> open_link("secret", signature, "/", [("dataset", "other")], now=999) is None
    True
    >>> open_link("secret", signature, "/", [("dataset", "lab")], now=1000) is None
    True
    """
    signed = read(key, SALT, signature, tuple[int, str, str])
    current = time.time() if now is None else now
    if signed is None or current >= signed[0] or signed[2] != _digest(path, pairs):
        return None
    return SignedLink(signed[1], datetime.fromtimestamp(signed[0], UTC))


def write(key: str, purpose: str, content: tuple[object, ...]) -> str:
    """Return a signed text, for a link or a cookie. ``key`` is the signing key of the store."""
    return str(_serializer(key, purpose).dumps(content))


def read(key: str, purpose: str, text: str, kind: type[T]) -> T | None:
    """Return what a text of ``write`` holds; None if the key or purpose is another, or the text was changed."""
    try:
        return msgspec.convert(_serializer(key, purpose).loads(text), kind) if key else None
    except (BadData, msgspec.ValidationError):
        return None


def _serializer(key: str, purpose: str) -> URLSafeSerializer:
    return URLSafeSerializer(key, purpose, signer_kwargs={"digest_method": hashlib.sha256})


def _digest(path: str, pairs: Pairs) -> str:
    free = FREE_OF_ROWS if path == ROWS else UNSIGNED_KEYS
    address = [path, sorted([name, value] for name, value in pairs if name not in free)]
    return hashlib.sha256(msgspec.json.encode(address)).hexdigest()[:32]


def read_end(text: str) -> datetime:
    """Return the end of a link, a token or a session from a date, which means the end of that day, or a time.

    Both are UTC unless they say otherwise.

    Raises ``ValueError`` if the text is neither a date nor a time, or it is in the past; the message says so.

    >>> read_end("2999-01-31").isoformat(), read_end("2999-01-31T18:00").isoformat()
    ('2999-02-01T00:00:00+00:00', '2999-01-31T18:00:00+00:00')
    """
    try:
        time = datetime.fromisoformat(text)
        end = time + timedelta(days=1) if len(text) == len("2027-01-31") else time
        end = end.replace(tzinfo=UTC) if end.tzinfo is None else end
        end.astimezone(UTC)
    except ValueError:
        raise ValueError(f"{text!r} is not a date such as 2027-01-31 or a time such as 2027-01-31T18:00") from None
    except OverflowError:
        raise ValueError(f"{text} is too late; the last day is 9999-12-30") from None
    if end <= datetime.now(UTC):
        raise ValueError(f"{text} is in the past")
    return end
