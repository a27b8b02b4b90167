"""A token: in the header ``Authorization``, or in the cookie of the login page."""

from __future__ import annotations

from collections.abc import Callable

from flask import request

from clueline.dashboard.access.providers import Reader, RequestDenied, wrong_token
from clueline.data.store.tokens_and_readers import AccessRecord, Right

COOKIE = "clueline_login"


class BearerToken:
    """See ``Provider``. A token is 256 random bits, too many to guess at any rate, so wrong ones are not throttled."""

    gives: Right | None = "admin"
    sent_unasked = False

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return who holds the token. Raises ``RequestDenied`` if it is unknown, was revoked or has expired."""
        scheme, _, secret = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = record().find(secret.strip())
        if token is None:
            raise wrong_token()
        if token.revoked_at:
            raise RequestDenied(
                403, "revoked_token", f"The token {token.name!r} was revoked at {token.revoked_at}.", by=token.name
            )
        if token.ended_at():
            raise RequestDenied(403, "expired_token", f"The token {token.name!r} expired at {token.until}.", by=token.name)
        return Reader(token.name, token.right)


class LoginCookie:
    """See ``Provider``. A cookie with a token that is not valid is ignored."""

    gives: Right | None = "admin"
    sent_unasked = True

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return who has logged in."""
        token = record().find(request.cookies[COOKIE]) if COOKIE in request.cookies else None
        return None if token is None or token.ended_at() else Reader(token.name, token.right, by_cookie=True)
