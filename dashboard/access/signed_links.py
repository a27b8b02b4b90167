"""Signed links: an address with a signature that opens it without a token, until a date.

The signature covers the path, all keys of the address and the dataset that they are about, so that a changed address is another
view, which the link does not open.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from datetime import datetime

import msgspec
from itsdangerous import BadData, URLSafeSerializer

KEY = "signed"  # of the address
FREE = (KEY, "theme")  # keys that the signature does not cover
SALT = "clueline signed link"
Pairs = Iterable[tuple[str, str]]


def sign(key: str, path: str, pairs: Pairs, dataset: str, until: datetime) -> str:
    """The value of the key ``signed`` of an address.

    Args:
        key: of the store, see ``AccessRecord.link_key``.
        path: of the address, without escapes.
        pairs: its keys and values.
        dataset: the only one that the link shows.
        until: when it ends.
    """
    return str(_serializer(key).dumps([int(until.timestamp()), dataset, _digest(path, pairs)]))


def dataset_of_link(key: str, signature: str, path: str, pairs: Pairs, now: float | None = None) -> str | None:
    """The dataset that a signed link shows; None where the signature is not of this address, or has ended.

    >>> signature = sign("secret", "/", [("dataset", "lab")], "lab", datetime.fromtimestamp(1000))
    >>> dataset_of_link("secret", signature, "/", [("dataset", "lab"), ("theme", "dark")], now=999)
    'lab'
    >>> dataset_of_link("secret", signature, "/", [("dataset", "other")], now=999) is None
    True
    >>> dataset_of_link("secret", signature, "/", [("dataset", "lab")], now=1000) is None
    True
    """
    if not key:
        return None
    try:
        until, dataset, digest = msgspec.convert(_serializer(key).loads(signature), tuple[int, str, str])
    except (BadData, msgspec.ValidationError):
        return None
    current = time.time() if now is None else now
    return dataset if current < until and digest == _digest(path, pairs) else None


def _serializer(key: str) -> URLSafeSerializer:
    return URLSafeSerializer(key, SALT, signer_kwargs={"digest_method": hashlib.sha256})


def _digest(path: str, pairs: Pairs) -> str:
    address = [path, sorted([name, value] for name, value in pairs if name not in FREE)]
    return hashlib.sha256(msgspec.json.encode(address)).hexdigest()[:32]
