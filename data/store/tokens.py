"""Tokens for uploads, kept by the register of the store.

A token is 256 random bits, so that its hash needs no salt and no slow function. Only the hash is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from data.store.errors import StoreError
from data.store.register import Register

PREFIX = "clueline_"  # by which scanners recognise a leaked token
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"open"})  # the provenance of an upload without a token
LONGEST = 200  # characters of a token that are read


class TokenError(Exception):
    """A token cannot be made, found or revoked; the message says why."""


class Token(msgspec.Struct, frozen=True):
    """A token without its secret. Times are ISO 8601, UTC; ``revoked_at`` is None while it is valid."""

    name: str
    digest: str  # sha256 of the token, in hexadecimal
    made_at: str
    revoked_at: str | None = None


class Tokens:
    """The tokens of a store."""

    def __init__(self, register: Register) -> None:
        self.register = register

    def create(self, name: str) -> str:
        """Make a token and return it; it cannot be shown again.

        Raises:
            TokenError: the name is bad or taken, or they cannot be written.
        """
        if not NAME.fullmatch(name) or name in RESERVED:
            raise TokenError(
                f"{name!r} cannot be a token's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or "
                f"digit, and not {', '.join(sorted(RESERVED))!r}"
            )
        token = PREFIX + secrets.token_urlsafe(32)

        def add(tokens: list[Token]) -> None:
            taken = next((known for known in tokens if known.name == name), None)
            if taken:
                # The provenance of a run names the token that uploaded it, so a name is never used again.
                state = "and was revoked" if taken.revoked_at else "already"
                raise TokenError(f"there is a token {name!r} {state}; choose another name")
            tokens.append(Token(name, _digest(token), _now()))

        self._change(add)
        return token

    def revoke(self, name: str) -> None:
        """Revoke a token. Runs that it uploaded stay.

        Raises:
            TokenError: there is no such token, it is revoked already, or they cannot be written.
        """

        def mark(tokens: list[Token]) -> None:
            for index, token in enumerate(tokens):
                if token.name == name:
                    if token.revoked_at:
                        raise TokenError(f"the token {name!r} was revoked at {token.revoked_at}")
                    tokens[index] = msgspec.structs.replace(token, revoked_at=_now())
                    return
            valid = ", ".join(token.name for token in tokens if not token.revoked_at) or "none"
            raise TokenError(f"there is no token {name!r}; there are: {valid}")

        self._change(mark)

    def all(self) -> list[Token]:
        """Every token, revoked ones among them, in the order in which they were made.

        Raises:
            TokenError: they cannot be read.
        """
        try:
            content = self.register.read_tokens()
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be read: {error}") from error
        return _decode(content)

    def find(self, token: str) -> Token | None:
        """The entry of a token, revoked or not; None if there is none. Takes equally long for any text."""
        digest = _digest(token[:LONGEST])
        match = None
        for known in self.all():
            if hmac.compare_digest(known.digest, digest):
                match = known
        return match

    def _change(self, change: Callable[[list[Token]], None]) -> None:
        """Change the list of tokens in place. It is kept unless an exception is raised."""

        def replace(content: bytes | None) -> tuple[bytes, None]:
            tokens = _decode(content)
            change(tokens)
            return msgspec.json.encode(tokens), None

        try:
            self.register.change_tokens(replace)
        except (OSError, StoreError) as error:
            raise TokenError(f"the tokens cannot be written: {error}") from error


def _decode(content: bytes | None) -> list[Token]:
    try:
        return msgspec.json.decode(content, type=list[Token]) if content is not None else []
    except msgspec.MsgspecError as error:
        raise TokenError(f"the tokens cannot be read ({error}); restore them from a backup") from error


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
