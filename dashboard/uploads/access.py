"""Who may write: the three modes, tokens, and what a web page of somebody else must not be able to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from flask import request

from dashboard.settings import Settings
from dashboard.uploads.token_throttle import TokenThrottle
from data.store.generations import StoreError
from data.tokens import TokenError, Tokens
from queries.selection import BadRequest

NOBODY = "open"  # what provenance says of an upload without a token
LOOPBACK = re.compile(r"localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\]")
CHALLENGE = 'Bearer realm="clueline"'


class Denied(BadRequest):
    """A request that may not be made; ``headers`` go with the answer."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code, message, field, status=status)
        self.headers = dict(headers or {})


class Access:
    """Decides about requests to one server."""

    def __init__(self, settings: Settings, tokens: Tokens, failures: TokenThrottle) -> None:
        self.mode = settings.uploads
        self.tokens = tokens
        self._failures = failures
        self._named = {settings.host.lower(), *filter(None, settings.hosts.split(","))}
        # A server that listens beyond this machine is called by whatever name it has there, unless told which.
        self._any_host = self.mode != "open" and not settings.hosts and not _is_loopback(settings.host)

    def check_host(self) -> None:
        """Refuse a request that calls this server by a strange name: a page elsewhere may have its own name point here."""
        name = re.sub(r":\d*$", "", request.headers.get("Host", "")).lower()
        if not (self._any_host or LOOPBACK.fullmatch(name) or name in self._named or f"[{name}]" in self._named):
            raise Denied(
                403,
                "unknown_host",
                f"This server is not called {name[:100]!r}; its operator can allow that name with CLUELINE_HOSTS.",
            )

    def writer(self) -> str:
        """Who makes this request, by the name of the token; raises ``Denied`` for whoever may not write."""
        if self.mode == "off":
            raise Denied(403, "uploads_off", "This server takes no uploads and changes no runs (CLUELINE_UPLOADS=off).")
        said = request.headers.get("Authorization")
        if self.mode == "open":
            self._check_same_site()
            if said is None:
                return NOBODY
        if said is None:
            raise Denied(
                401, "no_token", "This needs a token: the header `Authorization: Bearer TOKEN`. The operator of the server makes "
                "one with `python -m dashboard token create NAME`.", headers={"WWW-Authenticate": CHALLENGE},
            )  # fmt: skip
        scheme, _, token = said.strip().partition(" ")
        try:
            found = self.tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        except TokenError as error:
            raise StoreError(str(error)) from error
        if found and not found.revoked_at:
            return found.name
        wait = self._failures.count(request.remote_addr or "")
        if wait:
            raise Denied(
                429, "too_many_failures", f"Too many wrong tokens came from here; try again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )  # fmt: skip
        if found:
            raise Denied(403, "revoked_token", f"The token {found.name!r} was revoked at {found.revoked_at}.")
        raise Denied(
            401, "wrong_token", "There is no such token. The header is `Authorization: Bearer TOKEN`.",
            headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
        )  # fmt: skip

    def _check_same_site(self) -> None:
        """Without tokens, a browser would carry out what any page tells it: only our own pages may."""
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        if site not in (None, "same-origin", "none") or (origin is not None and urlsplit(origin).netloc != request.host):
            raise Denied(403, "cross_site", "This request comes from a page of another site; only this server's own pages may.")


def _is_loopback(host: str) -> bool:
    return bool(LOOPBACK.fullmatch(f"[{host}]" if ":" in host else host.lower()))
