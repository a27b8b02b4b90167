"""Who may write: the three upload modes, tokens, users of a trusted proxy, and protection from other web sites."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from flask import g, request

from dashboard.settings import Settings
from dashboard.trusted_proxies import from_trusted_proxy
from data.store import StoreError
from data.store.tokens import RESERVED, TokenError, Tokens
from queries.parameters import BadRequest

WITHOUT_TOKEN = "open"  # the provenance of an upload in mode `open`
LOOPBACK = re.compile(r"localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\]")
MAX_USER = 100  # characters of a user's name
CHALLENGE = 'Bearer realm="clueline"'

log = logging.getLogger(__name__)


class Denied(BadRequest):
    """A request that may not be made; ``headers`` go with the response."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code, message, field, status=status)
        self.headers = dict(headers or {})


class Access:
    """Decides about the requests to one server."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self.mode = settings.uploads
        self.tokens = tokens
        self._user_header = settings.user_header
        self._host_names = {settings.host.lower(), *settings.hosts}
        # A server that listens beyond this machine goes by names we cannot know, unless the settings list them.
        self._any_host = self.mode != "open" and not settings.hosts and not _is_loopback(settings.host)

    def check_host(self) -> None:
        """Refuse a request that calls this server by an unknown name, as a page elsewhere would after DNS rebinding.

        Raises:
            Denied: with status 403.
        """
        name = re.sub(r":\d*$", "", request.headers.get("Host", "")).lower()
        if not (self._any_host or LOOPBACK.fullmatch(name) or name in self._host_names or f"[{name}]" in self._host_names):
            raise Denied(
                403,
                "unknown_host",
                f"This server is not called {name[:100]!r}; its operator can allow that name with CLUELINE_HOSTS.",
            )

    def user(self) -> str | None:
        """The user whom a trusted proxy names; None if there is none.

        Raises:
            Denied: the header with the name comes from elsewhere, or holds what cannot be a name.
        """
        name = request.headers.get(self._user_header) if self._user_header else None
        if name is None:
            return None
        if not from_trusted_proxy():
            raise Denied(
                403, "untrusted_proxy", f"The header {self._user_header} is taken only from the proxies that "
                f"CLUELINE_TRUSTED_PROXIES lists; this request comes from {request.remote_addr}.",
            )  # fmt: skip
        name = name.strip()
        if len(name) > MAX_USER or not name.isprintable() or name in RESERVED:
            raise Denied(400, "bad_user", f"The header {self._user_header} must hold a name of at most {MAX_USER} characters.")
        return name or None

    def writer(self) -> str:
        """Name of the token that this request carries, or of the user whom a trusted proxy names; `open` for neither in mode
        `open`.

        Wrong tokens are not throttled: a token is 256 random bits, which no rate of guessing finds. Each refused attempt is
        logged in one line, without the token.

        Raises:
            Denied: the request may not write.
            StoreError: the tokens cannot be read.
        """
        try:
            g.writer = self._writer()
        except Denied as denied:
            log.warning("refused %s %r from %s: %s", request.method, request.path[:200], request.remote_addr, denied.code)
            raise
        return str(g.writer)

    def _writer(self) -> str:
        if self.mode == "off":
            raise Denied(403, "uploads_off", "This server takes no uploads and changes no runs (CLUELINE_UPLOADS=off).")
        authorization = request.headers.get("Authorization")
        user = self.user()
        if user and not (authorization or "").lower().startswith("bearer "):  # a proxy may pass its own kind on
            self._check_same_site()
            return user
        if self.mode == "open":
            self._check_same_site()
            if authorization is None:
                return WITHOUT_TOKEN
        if authorization is None:
            raise Denied(
                401, "no_token", "This needs a token: the header `Authorization: Bearer TOKEN`. The operator of the server makes "
                "one with `python -m dashboard token create NAME`.", headers={"WWW-Authenticate": CHALLENGE},
            )  # fmt: skip
        scheme, _, secret = authorization.strip().partition(" ")
        try:
            token = self.tokens.find(secret.strip()) if scheme.lower() == "bearer" else None
        except TokenError as error:
            raise StoreError(str(error)) from error
        if token is None:
            raise Denied(
                401, "wrong_token", "There is no such token. The header is `Authorization: Bearer TOKEN`.",
                headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
            )  # fmt: skip
        if token.revoked_at:
            raise Denied(403, "revoked_token", f"The token {token.name!r} was revoked at {token.revoked_at}.")
        return token.name

    def _check_same_site(self) -> None:
        """Where no token is needed, a browser would write on behalf of any site: only our own pages may."""
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        if site not in (None, "same-origin", "none") or (origin is not None and urlsplit(origin).netloc != request.host):
            raise Denied(403, "cross_site", "This request comes from a page of another site; only this server's own pages may.")


def _is_loopback(host: str) -> bool:
    return bool(LOOPBACK.fullmatch(f"[{host}]" if ":" in host else host.lower()))
