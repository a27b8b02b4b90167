"""A token in the cookie of the login page."""

from __future__ import annotations

from collections.abc import Callable

from flask import request

from dashboard.access.providers import Reader
from data.store.tokens_and_readers import AccessRecord, Right

COOKIE = "clueline_login"


class LoginCookie:
    """See ``Provider``. A cookie with a token that is not valid is ignored."""

    gives: Right | None = "admin"
    sent_unasked = True

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return who has logged in."""
        token = record().find(request.cookies[COOKIE]) if COOKIE in request.cookies else None
        return None if token is None or token.ended_at() else Reader(token.name, token.right, by_cookie=True)
