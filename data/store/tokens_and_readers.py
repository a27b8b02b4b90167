"""Tokens, and who may read which dataset. The register of the store keeps both, and the key that signs links, in one document.

A token is 256 random bits, so its hash needs no salt and no slow function. Only the hash is stored. The document has a checksum,
so damage is noticed and never mistaken for "no tokens" or "nothing is private".
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

import msgspec

from clueline.data.store import audit
from clueline.data.store.audit import AuditEvent, new_event
from clueline.data.store.errors import StoreError, reason
from clueline.data.store.register import Register

PREFIX = "clueline_"  # lets scanners recognise a leaked token
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"open"})  # the provenance of an upload without a token
MAX_TOKEN_LENGTH = 200  # characters of a token that are read
UNCHECKED = b"["  # how a document begins that has no checksum: a list of tokens, as the first versions wrote it
USER = "user:"  # prefix of the name of a trusted proxy's user in the list of a dataset's readers

UNUSED = "one-time-"  # prefix of the names of tokens that stand for one-time links
MINUTES, DAYS = 15, 30  # how long such a link, and the token of the browser that opens it, are valid
# Each right includes those before it: read; upload, withdraw and restore; read every dataset and decide who else may.
Right = Literal["read", "upload", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)


READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)  # a store that this process may not write


class TokenError(Exception):
    """A token or the readers of a dataset cannot be read, found or changed; the message says why."""


class Token(msgspec.Struct, frozen=True):
    """A token without its secret. Times are ISO 8601, UTC; None for never. A name is never used again, because runs record it."""

    name: str
    digest: str
    made_at: str
    revoked_at: str | None = None
    right: Right = "upload"  # the right that all tokens had before there were rights
    until: str | None = None

    def ended_at(self, now: str | None = None) -> str | None:
        """Return when it was revoked or expired; None while it is valid."""
        if self.revoked_at is None and self.until is not None and self.until <= (now or _now()):
            return self.until
        return self.revoked_at


class AccessRecord(msgspec.Struct, frozen=True):
    """The tokens, readers and link key that the register keeps."""

    tokens: tuple[Token, ...] = ()  # all, including revoked ones, in the order in which they were created
    private: dict[str, tuple[str, ...]] = {}  # by private dataset, stored or not: names of tokens, and ``user:NAME`` of a proxy
    link_key: str = ""  # in hexadecimal; blank before the first link
    logins: dict[str, int] = {}  # hashes of the logins at an identity provider that were finished, and when they would end

    def find(self, token: str) -> Token | None:
        """Return the entry of a token, revoked or not; None if there is none. Takes equally long for any text."""
        digest = _digest(token[:MAX_TOKEN_LENGTH])
        matches = [known for known in self.tokens if hmac.compare_digest(known.digest, digest)]
        return matches[-1] if matches else None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal[2]  # 1 was a list of tokens without a checksum
    sha256: str  # of the bytes of ``record``
    record: msgspec.Raw


class Tokens:
    """The tokens of a store, and the readers of its private datasets. Methods that read or change them raise ``TokenError``."""

    def __init__(self, register: Register) -> None:
        self.register = register

    def create(self, name: str, right: Right = "upload", until: datetime | None = None) -> str:
        """Create a token, valid ``until`` a time or for good, and return it. It cannot be shown again. The name must be new."""
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
                state = "that was revoked" if taken.revoked_at else "already"
                raise TokenError(f"there is a token {name!r} {state}; choose another name")
            entry = Token(name, _digest(token), _now(), right=right, until=end)
            return msgspec.structs.replace(record, tokens=(*record.tokens, entry))

        self.change(add, lambda: [new_event("created_token", None, token=name)])
        return token

    def revoke(self, name: str) -> None:
        """Revoke a valid token. Runs that it uploaded stay."""
        self.change(lambda record: _revoked(record, name), lambda: [new_event("revoked_token", None, token=name)])

    def make_private(self, dataset: str, readers: Iterable[str], by: str | None = None) -> tuple[str, ...]:
        """Let only some readers, and tokens with the right ``admin``, read a dataset. It need not be stored yet.

        Readers are names of tokens, and ``user:NAME`` for users of a trusted proxy. Returns them without duplicates.
        """
        names = tuple(dict.fromkeys(readers))

        def restrict(record: AccessRecord) -> AccessRecord:
            known = {token.name for token in record.tokens}
            for name in names:
                if name not in known and not (name.startswith(USER) and name.removeprefix(USER).strip()):
                    valid = ", ".join(token.name for token in record.tokens if not token.ended_at()) or "none"
                    raise TokenError(f"there is no token {name!r}; there are: {valid}")
            return msgspec.structs.replace(record, private=record.private | {dataset: names})

        self.change(restrict, lambda: [new_event("made_private", by, dataset=dataset)])
        return names

    def make_public(self, dataset: str, by: str | None = None) -> bool:
        """Make a dataset readable for everybody who may read. Returns False if it was public."""
        if dataset not in self.record().private:
            return False

        def lift(record: AccessRecord) -> AccessRecord:
            private = {name: readers for name, readers in record.private.items() if name != dataset}
            return msgspec.structs.replace(record, private=private)

        self.change(lift, lambda: [new_event("made_public", by, dataset=dataset)])
        return True

    def new_link_key(self) -> str:
        """Create and return a new key for links. Links that were signed before become invalid."""
        key = secrets.token_hex(32)
        self.change(lambda record: msgspec.structs.replace(record, link_key=key), lambda: [new_event("renewed_link_key", None)])
        return key

    def take_login(self, state: str, until: int) -> bool:
        """Return whether a login is finished for the first time, by any worker or host. ``until`` is when it would end.

        A store that may only be read remembers nothing: there, it is left to the identity provider to accept a code once.
        """
        key, now = _digest(state), time.time()
        is_first = False

        def take(record: AccessRecord) -> AccessRecord:
            nonlocal is_first
            is_first = key not in record.logins
            logins = {known: end for known, end in record.logins.items() if end > now}
            return msgspec.structs.replace(record, logins=logins | {key: until})

        try:
            self.change(take)
        except TokenError as error:
            cause = error.__cause__
            if not (isinstance(cause, OSError) and cause.errno in READ_ONLY):
                raise
            return True
        return is_first

    def all(self) -> list[Token]:
        """Return every token, including revoked ones, in the order in which they were created."""
        return list(self.record().tokens)

    def record(self) -> AccessRecord:
        return self._read(self.register.read_tokens)

    def latest(self) -> AccessRecord:
        """Like ``record``, for readers: while the register cannot be reached, return the last record."""
        return self._read(self.register.latest_tokens)

    def _read(self, read: Callable[[], bytes | None]) -> AccessRecord:
        try:
            content = read()
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be read: {error}") from error
        return decode(content)

    def change(
        self, change: Callable[[AccessRecord], AccessRecord], events: Callable[[], Sequence[AuditEvent]] = lambda: ()
    ) -> None:
        """Change the record. The ``events``, which are asked for after the change is made, are in the audit if it is in force."""
        made: list[AuditEvent] = []

        def replace(content: bytes | None) -> tuple[bytes, list[bytes]]:
            record = change(decode(content))
            made[:] = events()
            return encode(record), audit.encode(made)

        try:
            self.register.change_tokens(replace)
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be written: {reason(error)}") from error
        audit.log_events(made)


def carry_access(source: Register, target: Register, *, is_copy: bool) -> list[str]:
    """Merge who may read what in one store into another store, before data of the first are published there.

    A dataset that is private in either store is private afterwards. A reader who is named by a token stays one only if the target
    has the same token: another token of that name may be somebody else's.

    If the target is to be a copy of the source, which a killed process may have begun, the source's tokens and readers replace
    the target's. Otherwise the target's stay, so a token revoked since a backup stays revoked, and the source's tokens come only
    into a store without tokens.

    Returns the datasets that have become private in the target. Raises ``TokenError``; then it is not known what is private.
    """
    carried = Tokens(source).record()
    if carried == AccessRecord():
        return []
    new: list[str] = []

    def merge(own: AccessRecord) -> AccessRecord:
        new[:] = sorted(carried.private.keys() - own.private.keys())
        return _merged(own, carried, is_copy)

    Tokens(target).change(merge, lambda: [] if is_copy else [new_event("made_private", None, dataset=dataset) for dataset in new])
    return new


def _merged(own: AccessRecord, carried: AccessRecord, is_copy: bool) -> AccessRecord:
    first, second = (carried, own) if is_copy else (own, carried)
    if is_copy:
        names = {token.name for token in carried.tokens}
        tokens = (*carried.tokens, *(token for token in own.tokens if token.name not in names))
    else:
        tokens = own.tokens or carried.tokens
    digests = {token.name: token.digest for token in tokens}
    same = {token.name for token in carried.tokens if digests.get(token.name) == token.digest}
    readers = {
        dataset: tuple(name for name in names if name in same or name.startswith(USER))
        for dataset, names in carried.private.items()
    }
    private = own.private | readers if is_copy else readers | own.private
    return AccessRecord(tokens, private, first.link_key or second.link_key, own.logins)


def new_code(tokens: Tokens) -> str:
    """Return a code for a link that signs in the browser that opens it first, within ``MINUTES``. Raises ``TokenError``.

    ``redeem`` takes it once. As a token, it can only read.
    """
    return tokens.create(f"{UNUSED}{secrets.token_hex(6)}", "read", datetime.now(UTC) + timedelta(minutes=MINUTES))


def redeem(tokens: Tokens, code: str) -> str | None:
    """Return a new token with the right ``admin``, valid for ``DAYS``; None if the code was used, has expired, or is none."""
    entry = tokens.record().find(code)
    if entry is None or entry.ended_at() or not entry.name.startswith(UNUSED):
        return None
    used, name, token = entry.name, f"browser-{secrets.token_hex(6)}", PREFIX + secrets.token_urlsafe(32)
    made = Token(name, _digest(token), _now(), right="admin", until=_iso(datetime.now(UTC) + timedelta(days=DAYS)))

    def exchange(record: AccessRecord) -> AccessRecord:
        record = _revoked(record, used)
        return msgspec.structs.replace(record, tokens=(*record.tokens, made))

    try:
        tokens.change(
            exchange, lambda: [new_event("revoked_token", None, token=used), new_event("created_token", None, token=name)]
        )
    except TokenError as error:
        if isinstance(error.__cause__, OSError | StoreError):
            raise
        return None  # another browser was faster
    return token


def _revoked(record: AccessRecord, name: str) -> AccessRecord:
    """Return a record in which a valid token is revoked. Raises ``TokenError``."""
    revoked = next((token for token in record.tokens if token.name == name), None)
    if revoked is None:
        valid = ", ".join(token.name for token in record.tokens if not token.ended_at()) or "none"
        raise TokenError(f"there is no token {name!r}; there are: {valid}")
    if revoked.revoked_at:
        raise TokenError(f"the token {name!r} was revoked at {revoked.revoked_at}")
    marked = msgspec.structs.replace(revoked, revoked_at=_now())
    return msgspec.structs.replace(record, tokens=tuple(marked if token is revoked else token for token in record.tokens))


def encode(record: AccessRecord) -> bytes:
    """Return the document that the register keeps for a record."""
    content = msgspec.json.encode(record)
    return msgspec.json.encode(_Document(2, hashlib.sha256(content).hexdigest(), msgspec.Raw(content)))


def decode(content: bytes | None) -> AccessRecord:
    """Return the record of a document; an empty one for None. Raises ``TokenError`` if the document is not what was written."""
    if content is None:
        return AccessRecord()
    try:
        if content.startswith(UNCHECKED):
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
