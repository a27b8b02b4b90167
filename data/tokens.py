"""Tokens for uploads, kept in a small file in the folder of the store.

A token is 256 random bits, so that its hash needs no salt and no slow function. Only the hash is stored. The file is replaced
in one atomic rename, so that a reader always sees a complete version.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

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
    """The tokens of the store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "tokens.json"

    def create(self, name: str) -> str:
        """Make a token and return it; it cannot be shown again.

        Raises:
            TokenError: the name is bad or taken, or the file cannot be written.
        """
        if not NAME.fullmatch(name) or name in RESERVED:
            raise TokenError(
                f"{name!r} cannot be a token's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or "
                f"digit, and not {', '.join(sorted(RESERVED))!r}"
            )
        token = PREFIX + secrets.token_urlsafe(32)
        with self._changing() as tokens:
            taken = next((known for known in tokens if known.name == name), None)
            if taken:
                # The provenance of a run names the token that uploaded it, so a name is never used again.
                state = "and was revoked" if taken.revoked_at else "already"
                raise TokenError(f"there is a token {name!r} {state}; choose another name")
            tokens.append(Token(name, _digest(token), _now()))
        return token

    def revoke(self, name: str) -> None:
        """Revoke a token. Runs that it uploaded stay.

        Raises:
            TokenError: there is no such token, it is revoked already, or the file cannot be written.
        """
        with self._changing() as tokens:
            for index, token in enumerate(tokens):
                if token.name == name:
                    if token.revoked_at:
                        raise TokenError(f"the token {name!r} was revoked at {token.revoked_at}")
                    tokens[index] = msgspec.structs.replace(token, revoked_at=_now())
                    return
            valid = ", ".join(token.name for token in tokens if not token.revoked_at) or "none"
            raise TokenError(f"there is no token {name!r}; there are: {valid}")

    def all(self) -> list[Token]:
        """Every token, revoked ones among them, in the order in which they were made.

        Raises:
            TokenError: the file cannot be read.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[Token])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError) as error:
            raise TokenError(f"{self._path} cannot be read ({error}); restore it from a backup") from error

    def find(self, token: str) -> Token | None:
        """The entry of a token, revoked or not; None if there is none. Takes equally long for any text."""
        digest = _digest(token[:LONGEST])
        match = None
        for known in self.all():
            if hmac.compare_digest(known.digest, digest):
                match = known
        return match

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """The tokens, to be changed in place. They are written unless an exception is raised."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "tokens.lock").open("a") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX)  # held for moments only
                tokens = self.all()
                yield tokens
                self._write(msgspec.json.encode(tokens))
        except OSError as error:
            raise TokenError(f"the tokens in {self.folder} cannot be written: {error}") from error

    def _write(self, content: bytes) -> None:
        draft = self.folder / "tokens.json.tmp"
        draft.unlink(missing_ok=True)  # what a killed process left
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
