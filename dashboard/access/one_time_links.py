"""Links that sign in the browser that opens them first, with a token of its own; ``serve`` prints one on the owner's machine."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

from data.store.tokens_and_readers import TokenError, Tokens

UNUSED = "one-time-"  # prefix of the names of tokens that stand for links
MINUTES, DAYS = 15, 30  # how long a link, and the token of a browser, are valid


def new_code(tokens: Tokens) -> str:
    """Return a code that ``redeem`` takes once, within ``MINUTES``. As a token, it can only read. Raises ``TokenError``."""
    return tokens.create(f"{UNUSED}{secrets.token_hex(6)}", "read", datetime.now(UTC) + timedelta(minutes=MINUTES))


def redeem(tokens: Tokens, code: str) -> str | None:
    """Return a new token with the right ``admin``, valid for ``DAYS``; None if the code was used, has expired, or is none."""
    entry = tokens.record().find(code)
    if entry is None or entry.ended_at() or not entry.name.startswith(UNUSED):
        return None
    try:
        tokens.revoke(entry.name)
    except TokenError:
        return None  # another browser was faster
    return tokens.create(f"browser-{secrets.token_hex(6)}", "admin", datetime.now(UTC) + timedelta(days=DAYS))
