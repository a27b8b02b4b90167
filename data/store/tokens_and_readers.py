"""Tokens, and who may read which dataset, kept by the register of the store.

A token is 256 random bits, so that its hash needs no salt and no slow function. Only the hash is stored.

The register keeps one document, JSON with a checksum, so that damage is noticed and never taken for "no tokens" or "nothing is
private". It holds the tokens, the readers of private datasets, and the key that signs links.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, get_args

import msgspec

from data.store.audit import Audit
from data.store.errors import StoreError
from data.store.register import Register

PREFIX = "clueline_"  # by which scanners recognise a leaked token
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"open"})  # the provenance of an upload without a token
MAX_TOKEN_LENGTH = 200  # characters of a token that are read
USER = "user:"  # stands before the name of a user of a trusted proxy, where readers of a dataset are listed

# Each right includes those before it: to read; to upload, withdraw and restore; to read every dataset and say who else may.
Right = Literal["read", "upload", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)


class TokenError(Exception):
    """A token or the readers of a dataset cannot be read, found or changed; the message says why."""


class Token(msgspec.Struct, frozen=True):
    """A token without its secret. Times are ISO 8601, UTC.

    Attributes:
        name: never used again, since runs are called by it.
        digest: sha256 of the token, in hexadecimal.
        made_at: when it was made.
        revoked_at: None while it is valid.
        right: the greatest of its rights.
        until: from when on it is invalid; None for never.
    """

    name: str
    digest: str
    made_at: str
    revoked_at: str | None = None
    right: Right = "upload"  # as all tokens had before there were rights
    until: str | None = None

    def ended_at(self, now: str | None = None) -> str | None:
        """When it was revoked or came to its end; None while it is valid."""
        if self.revoked_at is None and self.until is not None and self.until <= (now or _now()):
            return self.until
        return self.revoked_at


class AccessRecord(msgspec.Struct, frozen=True):
    """What the register keeps.

    Attributes:
        tokens: revoked ones among them, in the order in which they were made.
        private: of each private dataset, stored or not, who reads it: names of tokens, and ``user:NAME`` for users of a proxy.
        link_key: signs links, in hexadecimal; blank before the first link.
    """

    tokens: tuple[Token, ...] = ()
    private: dict[str, tuple[str, ...]] = {}
    link_key: str = ""

    def find(self, token: str) -> Token | None:
        """The entry of a token, revoked or not; None if there is none. Takes equally long for any text."""
        digest = _digest(token[:MAX_TOKEN_LENGTH])
        match = None
        for known in self.tokens:
            if hmac.compare_digest(known.digest, digest):
                match = known
        return match


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal[2]  # 1 was a list of tokens without a checksum
    sha256: str  # of the bytes of ``record``
    record: msgspec.Raw


class Tokens:
    """The tokens of a store, and the readers of its private datasets."""

    def __init__(self, register: Register) -> None:
        self.register = register

    def create(self, name: str, right: Right = "upload", until: datetime | None = None) -> str:
        """Make a token and return it; it cannot be shown again.

        Args:
            name: by which runs call it.
            right: the greatest one.
            until: when it ends; None for never.

        Raises:
            TokenError: the name is bad or taken, the end is past, or they cannot be written.
        """
        if not NAME.fullmatch(name) or name in RESERVED:
            raise TokenError(
                f"{name!r} cannot be a token's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or "
                f"digit, and not {', '.join(sorted(RESERVED))!r}"
            )
        end = None if until is None else _iso(until)
        if end is not None and end <= _now():
            raise TokenError(f"{end} is past")
        token = PREFIX + secrets.token_urlsafe(32)

        def add(record: AccessRecord) -> AccessRecord:
            taken = next((known for known in record.tokens if known.name == name), None)
            if taken:
                # The provenance of a run names the token that uploaded it, so a name is never used again.
                state = "and was revoked" if taken.revoked_at else "already"
                raise TokenError(f"there is a token {name!r} {state}; choose another name")
            entry = Token(name, _digest(token), _now(), right=right, until=end)
            return msgspec.structs.replace(record, tokens=(*record.tokens, entry))

        self._change(add)
        Audit(self.register).record("created_token", None, token=name)
        return token

    def revoke(self, name: str) -> None:
        """Revoke a token. Runs that it uploaded stay.

        Raises:
            TokenError: there is no such token, it is revoked already, or they cannot be written.
        """

        def mark(record: AccessRecord) -> AccessRecord:
            revoked = next((token for token in record.tokens if token.name == name), None)
            if revoked is None:
                valid = ", ".join(token.name for token in record.tokens if not token.ended_at()) or "none"
                raise TokenError(f"there is no token {name!r}; there are: {valid}")
            if revoked.revoked_at:
                raise TokenError(f"the token {name!r} was revoked at {revoked.revoked_at}")
            marked = msgspec.structs.replace(revoked, revoked_at=_now())
            return msgspec.structs.replace(record, tokens=tuple(marked if token is revoked else token for token in record.tokens))

        self._change(mark)
        Audit(self.register).record("revoked_token", None, token=name)

    def make_private(self, dataset: str, readers: Iterable[str], by: str | None = None) -> tuple[str, ...]:
        """Let a dataset be read by some alone, beside tokens with the right ``admin``. It need not be stored yet.

        Args:
            dataset: its id.
            readers: names of tokens, and ``user:NAME`` for users of a trusted proxy. They replace those it had.
            by: name of the token of the caller, or None.

        Returns:
            The readers.

        Raises:
            TokenError: there is no such token, or they cannot be written.
        """
        names = tuple(dict.fromkeys(readers))

        def restrict(record: AccessRecord) -> AccessRecord:
            known = {token.name for token in record.tokens}
            for name in names:
                if name not in known and not (name.startswith(USER) and name.removeprefix(USER).strip()):
                    valid = ", ".join(token.name for token in record.tokens if not token.ended_at()) or "none"
                    raise TokenError(f"there is no token {name!r}; there are: {valid}")
            return msgspec.structs.replace(record, private=record.private | {dataset: names})

        self._change(restrict)
        Audit(self.register).record("made_private", by, dataset=dataset)
        return names

    def make_public(self, dataset: str, by: str | None = None) -> bool:
        """Let a dataset be read by all who may read. Returns False if it was public. Raises ``TokenError``."""
        if dataset not in self.record().private:
            return False

        def lift(record: AccessRecord) -> AccessRecord:
            private = {name: readers for name, readers in record.private.items() if name != dataset}
            return msgspec.structs.replace(record, private=private)

        self._change(lift)
        Audit(self.register).record("made_public", by, dataset=dataset)
        return True

    def new_link_key(self) -> str:
        """Make a new key for links: those that were signed before are invalid. Raises ``TokenError``."""
        key = secrets.token_hex(32)
        self._change(lambda record: msgspec.structs.replace(record, link_key=key))
        Audit(self.register).record("renewed_link_key", None)
        return key

    def all(self) -> list[Token]:
        """Every token, revoked ones among them, in the order in which they were made.

        Raises:
            TokenError: they cannot be read.
        """
        return list(self.record().tokens)

    def record(self) -> AccessRecord:
        """All that the register keeps. Raises ``TokenError``."""
        return self._read(self.register.read_tokens)

    def latest(self) -> AccessRecord:
        """The same, for a reader: while the register cannot be reached, as it was last. Raises ``TokenError``."""
        return self._read(self.register.latest_tokens)

    def find(self, token: str) -> Token | None:
        """The entry of a token, revoked or not; None if there is none. Raises ``TokenError``."""
        return self.record().find(token)

    def _read(self, read: Callable[[], bytes | None]) -> AccessRecord:
        try:
            content = read()
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be read: {error}") from error
        return decode(content)

    def _change(self, change: Callable[[AccessRecord], AccessRecord]) -> None:
        """Replace the record, unless an exception is raised."""
        try:
            self.register.change_tokens(lambda content: (encode(change(decode(content))), None))
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be written: {error}") from error


def encode(record: AccessRecord) -> bytes:
    """The document that the register keeps."""
    content = msgspec.json.encode(record)
    return msgspec.json.encode(_Document(2, hashlib.sha256(content).hexdigest(), msgspec.Raw(content)))


def decode(content: bytes | None) -> AccessRecord:
    """The record of a document; an empty one for None. Raises ``TokenError`` for what is not as it was written."""
    if content is None:
        return AccessRecord()
    try:
        if content.startswith(b"["):
            return AccessRecord(tuple(msgspec.json.decode(content, type=list[Token])))
        document = msgspec.json.decode(content, type=_Document)
        if hashlib.sha256(document.record).hexdigest() == document.sha256:
            return msgspec.json.decode(document.record, type=AccessRecord)
        problem = "they are not what was written"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = str(error)
    raise TokenError(f"the tokens cannot be read ({problem}); restore them from a backup")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _now() -> str:
    return _iso(datetime.now(UTC))
