"""Who is asking, by token, user of a trusted proxy or signed link, and what they may read and write.

Datasets that readers may not read are left out of the version of the store that their request reads.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from flask import g, has_request_context, request

from dashboard.access import signed_links
from dashboard.access.dash_requests import CALLBACKS, drawn_address
from dashboard.access.json_bodies import InvalidJson
from dashboard.access.request_rate import RequestRate
from dashboard.access.signed_links import SignedLink
from dashboard.access.trusted_proxies import client_address, from_trusted_proxy
from dashboard.process.logs import request_id, without_secrets
from dashboard.settings import Settings
from dashboard.ui.html import address
from data.store import StoreError
from data.store.audit import Audit
from data.store.tokens_and_readers import RESERVED, RIGHTS, USER, AccessRecord, Right, Token, TokenError, Tokens
from queries.selection.parameter_kinds import BadRequest

WITHOUT_TOKEN = "open"  # recorded as the uploader in mode `open`
LOOPBACK = re.compile(r"localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\]")
MAX_USER = 100  # characters of a user's name
CHALLENGE = 'Bearer realm="clueline"'
COOKIE = "clueline_login"  # holds a token
PLAYED = 5  # requests a second from one player of a session, per worker
PLAYED_AT_ONCE = 60  # after a pause
PLAYED_FROM = 50  # requests a second from one IP address, which a whole class may share
PLAYED_FROM_AT_ONCE = 500
READ_FROM, READ_FROM_AT_ONCE = 500, 2000  # requests for words from one IP address; they write nothing

log = logging.getLogger(__name__)


class RequestDenied(BadRequest):
    """A request that is refused. ``headers`` are sent with the response; ``by`` names who made it, if that is known."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        by: str = "",
    ) -> None:
        super().__init__(code, message, field, status=status)
        self.headers = dict(headers or {})
        self.by = by


class Reader(NamedTuple):
    """Who is making a request.

    ``name`` is the name of the token, or ``user:NAME`` for a user of a trusted proxy. It is blank for an anonymous reader, whose
    ``right`` is None. ``right`` is the reader's highest right. ``by_cookie`` says whether the token comes from the cookie of the
    login page.
    """

    name: str = ""
    right: Right | None = None
    link: SignedLink | None = None
    by_cookie: bool = False

    def has(self, right: Right) -> bool:
        """Return whether the reader has a right, or a higher one."""
        return self.right is not None and RIGHTS.index(self.right) >= RIGHTS.index(right)


class Access:
    """Decides which requests to one server are allowed.

    ``mode`` says who may upload (``CLUELINE_UPLOADS``), and ``reading`` who may read (``CLUELINE_READ``). The rate limits are for
    each player of a session, each IP address that players send from, and each one that requests words.
    """

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self.mode = settings.uploads
        self.reading = settings.read
        self.tokens = tokens
        self.audit = Audit(tokens.register)
        self.players = RequestRate(PLAYED, PLAYED_AT_ONCE)
        self.playing_clients = RequestRate(PLAYED_FROM, PLAYED_FROM_AT_ONCE)
        self.reading_clients = RequestRate(READ_FROM, READ_FROM_AT_ONCE)
        self._user_header = settings.user_header
        self._host_names = {settings.host.lower(), *settings.hosts}
        # DNS rebinding needs a name, so a server that listens beyond this machine needs no list of IP addresses.
        self._any_number = self.mode != "open" and not settings.hosts and not _is_loopback(settings.host)

    def check_host(self) -> None:
        """Refuse a request that calls this server by an unknown name, as another site's page would after DNS rebinding.

        Raises ``Denied`` with status 403.
        """
        name = re.sub(r":\d*$", "", request.headers.get("Host", "")).lower()
        listed = name in self._host_names or f"[{name}]" in self._host_names
        if not (listed or LOOPBACK.fullmatch(name) or (self._any_number and _is_number(name))):
            raise RequestDenied(
                403,
                "unknown_host",
                f"This server does not answer to the name {name[:100]!r}. Its operator can allow it with CLUELINE_HOSTS.",
            )

    def user(self) -> str | None:
        """Return the user named by a trusted proxy; None if it names none.

        Raises ``Denied`` if the header with the name does not come from a trusted proxy, or does not hold a valid name.
        """
        name = request.headers.get(self._user_header) if self._user_header else None
        if name is None:
            return None
        if not from_trusted_proxy():
            raise RequestDenied(
                403, "untrusted_proxy", f"The header {self._user_header} is accepted only from the proxies listed in "
                f"CLUELINE_TRUSTED_PROXIES; this request comes from {request.remote_addr}.",
            )  # fmt: skip
        name = name.strip()
        if len(name) > MAX_USER or not name.isprintable() or name in RESERVED:
            raise RequestDenied(
                400, "bad_user", f"The header {self._user_header} must hold a name of at most {MAX_USER} characters."
            )
        return name or None

    # -- reading

    def reader(self) -> Reader:
        """Return who is making this request.

        Raises ``Denied`` if the header ``Authorization`` has an invalid token, and ``StoreError`` if the tokens cannot be read.
        """
        if "reader" not in g:
            try:
                g.reader = self._reader()
            except RequestDenied as denied:
                g.reader = denied
                self.record_refusal(denied)
        reader: Reader | RequestDenied = g.reader
        if isinstance(reader, RequestDenied):
            raise reader
        return reader

    def _reader(self) -> Reader:
        record = self._record()
        link = _link(record.link_key)
        secret = _bearer()
        if secret is not None:
            token = _valid(record.find(secret))
            return Reader(token.name, token.right, link)
        user = self.user()
        if user:
            return Reader(f"{USER}{user}", "upload", link)
        cookie = record.find(request.cookies[COOKIE]) if COOKIE in request.cookies else None
        if cookie and not cookie.ended_at():
            return Reader(cookie.name, cookie.right, link, by_cookie=True)
        return Reader(link=link)

    def check_reading(self) -> None:
        """Refuse a request whose reader may read nothing at all.

        Raises ``Denied`` with status 401, and ``StoreError`` if the tokens cannot be read.
        """
        reader = self.reader()
        if self.reading == "open" or reader.has("read") or reader.link is not None:
            return
        way = (
            "the proxy in front of this server should name the user, but did not"
            if self.reading == "proxy"
            else "log in at /login, or send the header `Authorization: Bearer TOKEN`"
        )
        raise RequestDenied(
            401, "no_token", f"Reading needs a token or a signed link: {way}.", headers={"WWW-Authenticate": CHALLENGE}
        )

    def hidden(self, datasets: Iterable[str]) -> list[str]:
        """Return which of these datasets the reader of this request may not read. Raises as ``check_reading``.

        Outside a request nothing is hidden, because whoever runs a command has the store itself.
        """
        if not has_request_context():
            return []
        self.check_reading()
        reader, private = self.reader(), self._record().private
        reads_public = self.reading == "open" or reader.has("read")

        def may_read(dataset: str) -> bool:
            if (reader.link is not None and dataset == reader.link.dataset) or reader.has("admin"):
                return True
            return reads_public and (dataset not in private or reader.name in private[dataset])

        return [dataset for dataset in datasets if not may_read(dataset)]

    def hidden_names(self) -> list[str]:
        """Return ids of private datasets, stored or not, that the reader of this request may not read. Raises as ``hidden``."""
        return self.hidden(self._record().private)

    def address_of_view(self, path: str, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the address of something that belongs to the view of this request, such as its table as CSV.

        If a signed link opened the view, the address is signed until the same date. So it must show no more of the dataset than
        the view does. Raises as ``reader``.
        """
        link = self.reader().link
        if link is None:
            return address(path, pairs)
        signature = signed_links.sign(self._record().link_key, path, pairs, link.dataset, link.until)
        return address(path, [*pairs, (signed_links.KEY, signature)])

    def page_mode(self) -> str:
        """Return ``mode`` for pages, or ``login`` if the reader is logged in and needs no token field. Raises as ``reader``."""
        return "login" if self.mode == "token" and self.reader().has("upload") else self.mode

    def offers_login(self) -> bool:
        """Return whether logging in could let somebody read more."""
        return self.reading == "token" or (self.reading == "open" and bool(self._record().private))

    def read_record_again(self) -> None:
        """Let this request forget what it has read of the readers of private datasets."""
        g.pop("access_record", None)

    def _record(self) -> AccessRecord:
        if "access_record" not in g:
            try:
                g.access_record = self.tokens.latest()
            except TokenError as error:
                raise StoreError(str(error)) from error
        record: AccessRecord = g.access_record
        return record

    # -- writing

    def admin(self) -> str:
        """Return the name of this request's token, which must have the right ``admin``. Raises as ``writer``."""
        return self._checked_writer("admin")

    def writer(self) -> str:
        """Return the name of this request's token, or of the user named by a trusted proxy.

        It is `open` if there is neither and the mode is `open`. Wrong tokens are not throttled: a token is 256 random bits, too
        many to guess at any rate. Each refused attempt is logged in one line, without the token. Raises ``Denied`` if the request
        may not write, and ``StoreError`` if the tokens cannot be read.
        """
        return self._checked_writer("upload")

    def check(self, right: Right) -> None:
        """Refuse a request that lacks a right; reading is checked for each dataset instead. Raises as ``writer``."""
        if right != "read":
            self._checked_writer(right)

    def _checked_writer(self, right: Right) -> str:
        try:
            g.writer = self._admin() if right == "admin" else self._writer()
        except RequestDenied as denied:
            self.record_refusal(denied)
            raise
        return str(g.writer)

    def record_refusal(self, denied: RequestDenied) -> None:
        """Log and record a refused attempt, without its token."""
        log.warning("refused %s %r from %s: %s", request.method, request.path[:200], request.remote_addr, denied.code)
        self.audit.record(
            "refused",
            denied.by,
            reason=denied.code,
            attempt=without_secrets(f"{request.method} {quote(request.path)}")[:200],
            address=request.remote_addr,
            request_id=request_id() or None,
        )

    def _admin(self) -> str:
        token = self._token_of_request()
        if token is None:
            raise _no_token()
        return _with_right(token, "admin").name

    def _writer(self) -> str:
        if self.mode == "off":
            raise RequestDenied(403, "uploads_off", "Uploads and changes to runs are switched off here (CLUELINE_UPLOADS=off).")
        authorization = request.headers.get("Authorization")
        user = self.user()
        if user and not (authorization or "").lower().startswith("bearer "):  # a proxy may pass on its own credentials
            self.check_same_site()
            return user
        if self.mode == "open":
            self.check_same_site()
            if authorization is None:
                return WITHOUT_TOKEN
        token = self._token_of_request()
        if token is None:
            raise _no_token()
        return _with_right(token, "upload").name

    def _token_of_request(self) -> Token | None:
        """Return the token from the header or, for our own pages, the cookie; None without one. Raises ``Denied`` if invalid."""
        authorization = request.headers.get("Authorization")
        if authorization is not None:
            secret = _bearer()
            if secret is None:
                raise _wrong_token()
            return _valid(self.find(secret))
        token = self.find(request.cookies[COOKIE]) if COOKIE in request.cookies else None
        if token is None or token.ended_at():
            return None
        self.check_same_site()
        return token

    def find(self, secret: str) -> Token | None:
        """Return the current entry of a token, revoked or not; None if it is unknown. Raises ``StoreError``."""
        try:
            return self.tokens.find(secret)
        except TokenError as error:
            raise StoreError(str(error)) from error

    def check_playing(self, player: str, *, reading: bool) -> None:
        """Refuse a player of a session who sends requests faster than anybody can play. Raises ``Denied`` with status 429.

        ``player`` is a digest of the player's secret. A client can choose that secret, so its IP address has a limit, too.
        ``reading`` says whether the request is for words.
        """
        client = client_address(request.remote_addr)
        clients = self.reading_clients if reading else self.playing_clients
        if not (clients.takes(client) and self.players.takes(player)):
            raise RequestDenied(
                429, "too_often", "Too many requests at once. Nothing is lost; try again.", headers={"Retry-After": "1"}
            )

    def check_same_site(self) -> None:
        """Refuse a request from another site's page, which a browser would send without a token or with the cookie.

        Raises ``Denied`` with status 403.
        """
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        if site not in (None, "same-origin", "none") or (origin is not None and origin.partition("://")[2] != request.host):
            raise RequestDenied(
                403, "cross_site", "This request comes from a page on another site. Only this server's pages can do this."
            )


def _bearer() -> str | None:
    """Return the token in the header ``Authorization``; None if the header is missing or holds other credentials."""
    scheme, _, secret = request.headers.get("Authorization", "").strip().partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _valid(token: Token | None) -> Token:
    """Return the token. Raises ``RequestDenied`` if there is none, or if it was revoked or has expired."""
    if token is None:
        raise _wrong_token()
    if token.revoked_at:
        raise RequestDenied(403, "revoked_token", f"The token {token.name!r} was revoked at {token.revoked_at}.", by=token.name)
    if token.ended_at():
        raise RequestDenied(403, "expired_token", f"The token {token.name!r} expired at {token.until}.", by=token.name)
    return token


def _with_right(token: Token, right: Right) -> Token:
    if RIGHTS.index(token.right) < RIGHTS.index(right):
        needs = "upload or change runs" if right == "upload" else "decide who can read a dataset"
        raise RequestDenied(
            403, "missing_right", f"The token {token.name!r} has the right {token.right!r}; it cannot {needs}.", by=token.name
        )
    return token


def _no_token() -> RequestDenied:
    return RequestDenied(
        401, "no_token", "This needs a token, sent as the header `Authorization: Bearer TOKEN`. The operator of the server can "
        "create one with `python -m dashboard token create NAME`.", headers={"WWW-Authenticate": CHALLENGE},
    )  # fmt: skip


def _wrong_token() -> RequestDenied:
    return RequestDenied(
        401, "wrong_token", "No known token was sent. The header must be `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
    )  # fmt: skip


def _link(key: str) -> SignedLink | None:
    """Return what the signed link of this request opens: its own address, or the page that it draws. None without one."""
    path, pairs = request.path, list(request.args.items(multi=True))
    if path == CALLBACKS:
        try:
            drawn = drawn_address()
        except InvalidJson:
            return None
        path, pairs = unquote(drawn.path), parse_qsl(drawn.query, keep_blank_values=True)
    signature = dict(pairs).get(signed_links.KEY)
    return None if signature is None else signed_links.open_link(key, signature, path, pairs)


def _is_number(host: str) -> bool:
    """Return whether a host name is an IP address (IPv6 in brackets)."""
    try:
        ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return host.startswith("[") or ":" not in host


def _is_loopback(host: str) -> bool:
    return bool(LOOPBACK.fullmatch(f"[{host}]" if ":" in host else host.lower()))
