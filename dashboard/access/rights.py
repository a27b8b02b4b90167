"""What a request may read and write, whoever sends it; ``dashboard.access.providers`` says who.

Datasets that readers may not read are left out of the version of the store that their request reads.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from flask import g, has_request_context, request

from clueline.dashboard.access import signed_links
from clueline.dashboard.access.providers import CHALLENGE, Provider, Reader, RequestDenied, wrong_token
from clueline.dashboard.access.providers.link import LinkSignature
from clueline.dashboard.access.providers.oidc import OidcUser
from clueline.dashboard.access.providers.proxy import ProxyUser
from clueline.dashboard.access.providers.token import BearerToken, LoginCookie
from clueline.dashboard.access.request_rate import RequestRate
from clueline.dashboard.access.trusted_proxies import client_address
from clueline.dashboard.http.logs import request_id, without_secrets
from clueline.dashboard.http.paths import address, shortened
from clueline.dashboard.settings import Settings
from clueline.data.store import StoreError
from clueline.data.store.audit import Audit
from clueline.data.store.tokens_and_readers import RIGHTS, AccessRecord, Right, Token, TokenError, Tokens

WITHOUT_TOKEN = "open"  # recorded as the uploader in mode `open`
LOOPBACK = re.compile(r"localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\]")
PLAYED = 5  # requests a second from one player of a session, per worker
PLAYED_AT_ONCE = 60  # after a pause
PLAYED_FROM = 50  # requests a second from one IP address, which a whole class may share
PLAYED_FROM_AT_ONCE = 500
MAX_PORT = 65_535
STORED, STORED_AT_ONCE = 0.2, 60  # new selections a second from one reader, per worker, and of these at once
READ_FROM, READ_FROM_AT_ONCE = 500, 2000  # requests for words from one IP address; they write nothing

log = logging.getLogger(__name__)


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
        self.storing_readers = RequestRate(STORED, STORED_AT_ONCE)
        self.proxy = ProxyUser(settings.user_header)
        self.oidc = OidcUser(settings)
        self.providers: tuple[Provider, ...] = (  # the first one that knows the sender counts
            BearerToken(),
            self.proxy,
            LoginCookie(),
            self.oidc,
            LinkSignature(),
        )
        self._host_names = {settings.host.lower(), *settings.hosts, *filter(None, [urlsplit(settings.url).hostname])}
        # DNS rebinding needs a name, so a server that listens beyond this machine needs no list of IP addresses.
        self._any_number = self.mode != "open" and not settings.hosts and not is_loopback(settings.host)

    def check_host(self) -> None:
        """Refuse a request that calls this server by an unknown name, as another site's page would after DNS rebinding.

        Raises ``Denied`` with status 403, or 400 for a port that there cannot be.
        """
        host = request.headers.get("Host", "").lower()
        port = re.search(r":([0-9]*)\Z", host)
        name = host[: port.start()] if port else host
        if port and (len(port[1]) > len(str(MAX_PORT)) or int(port[1] or 0) > MAX_PORT):
            raise RequestDenied(400, "bad_host", f"There is no port {port[1][:20]}, as the header `Host` of the request has it.")
        listed = name in self._host_names or f"[{name}]" in self._host_names
        if not (listed or LOOPBACK.fullmatch(name) or (self._any_number and _is_number(name))):
            raise RequestDenied(
                403,
                "unknown_host",
                f"This server does not answer to the name {name[:100]!r}. Its operator can allow it with CLUELINE_HOSTS "
                "or, as the address that copied links name, with CLUELINE_URL.",
            )

    # -- reading

    def reader(self) -> Reader:
        """Return who is making this request; outside a request, whoever runs a command, who has the store itself.

        Raises ``Denied`` if the header ``Authorization`` has an invalid token, and ``StoreError`` if the tokens cannot be read.
        """
        if not has_request_context():
            return Reader(right="admin")
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
        readers = [reader for provider in self.providers if (reader := provider.reader(self._record))]
        named = next((reader for reader in readers if reader.right), Reader())
        return named._replace(link=next((reader.link for reader in readers if reader.link), None))

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

    def public_datasets(self, datasets: Iterable[str]) -> list[str]:
        """Return which of these datasets are not private. Raises ``StoreError`` if the tokens cannot be read."""
        return [dataset for dataset in datasets if dataset not in self._record().private]

    def address_of_view(self, path: str, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the address of something that belongs to the view of this request, such as its table as CSV.

        If a signed link opened the view, the address is signed until the same date. So it must show no more of the dataset than
        the view does. Raises as ``reader``.
        """
        link, pairs = self.reader().link, shortened(pairs)
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
            g.access_record = _read(self.tokens.latest)
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
            g.writer = self._writer(right)
        except RequestDenied as denied:
            self.record_refusal(denied)
            raise
        return str(g.writer)

    def record_refusal(self, denied: RequestDenied) -> None:
        """Log and record a refused attempt, without its token."""
        log.warning("refused %s %r from %s: %s", request.method, request.path[:200], request.remote_addr, denied.code)
        self.audit.refuse(
            denied.by,
            reason=denied.code,
            attempt=without_secrets(f"{request.method} {quote(request.path)}")[:200],
            address=request.remote_addr,
            request_id=request_id() or None,
        )

    def _writer(self, right: Right) -> str:
        user = None if right == "admin" else self.proxy.name()
        if right != "admin" and self.mode == "off":
            raise RequestDenied(403, "uploads_off", "Uploads and changes to runs are switched off here (CLUELINE_UPLOADS=off).")
        authorization = request.headers.get("Authorization")
        if right != "admin" and self.mode == "open":
            self.check_same_site()
            if authorization is None and not user:
                return WITHOUT_TOKEN
        for provider in self.providers:
            if provider.gives is None or RIGHTS.index(provider.gives) < RIGHTS.index(right):
                continue
            reader = provider.reader(lambda: _read(self.tokens.record))
            if reader is None:
                continue
            if reader.by_cookie and authorization is not None:
                break
            if provider.sent_unasked:
                self.check_same_site()
            if not reader.has(right):
                raise _missing_right(reader, right)
            return user if user and provider is self.proxy else reader.name
        raise _no_token() if authorization is None else wrong_token()

    def find(self, secret: str) -> Token | None:
        """Return the current entry of a token, revoked or not; None if it is unknown. Raises ``StoreError``."""
        return _read(self.tokens.record).find(secret)

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

    def check_storing(self) -> None:
        """Refuse a reader who stores selections too often, or has only a signed link. Raises ``Denied``."""
        if not has_request_context():
            return
        reader = self.reader()
        if reader.link is not None and not reader.has("read"):
            raise RequestDenied(403, "only_a_link", "Whoever has only a signed link cannot store a selection.")
        if not self.storing_readers.takes(reader.name or client_address(request.remote_addr)):
            wait = {"Retry-After": str(round(1 / STORED))}
            raise RequestDenied(429, "too_often", "Too many selections were stored at once. Try again soon.", headers=wait)

    def storing_reader(self) -> tuple[str, str]:
        """Return the name of who stores a selection, blank if it is unknown, and the IP address; both blank for a command."""
        if not has_request_context():
            return "", ""
        return self.reader().name or "", client_address(request.remote_addr)

    def check_same_site(self) -> None:
        """Refuse a request from another site's page, which a browser would send without a token or with the cookie.

        Raises ``Denied`` with status 403.
        """
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        if site not in (None, "same-origin", "none") or (origin is not None and origin.partition("://")[2] != request.host):
            raise RequestDenied(
                403, "cross_site", "This request comes from a page on another site. Only this server's pages can do this."
            )


def _read(read: Callable[[], AccessRecord]) -> AccessRecord:
    try:
        return read()
    except TokenError as error:
        raise StoreError(str(error)) from error


def _missing_right(reader: Reader, right: Right) -> RequestDenied:
    needs = "upload or change runs" if right == "upload" else "decide who can read a dataset"
    message = f"The token {reader.name!r} has the right {reader.right!r}; it cannot {needs}."
    return RequestDenied(403, "missing_right", message, by=reader.name)


def _no_token() -> RequestDenied:
    return RequestDenied(
        401, "no_token", "This needs a token, sent as the header `Authorization: Bearer TOKEN`. The operator of the server can "
        "create one with `clueline token create NAME`.", headers={"WWW-Authenticate": CHALLENGE},
    )  # fmt: skip


def _is_number(host: str) -> bool:
    """Return whether a host name is an IP address (IPv6 in brackets)."""
    try:
        ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return host.startswith("[") or ":" not in host


def is_public(dataset: str, reading: str, record: AccessRecord) -> bool:
    """Return whether everybody who reaches the server can read a dataset. ``reading`` is the setting ``CLUELINE_READ``."""
    return reading == "open" and dataset not in record.private


def is_loopback(host: str) -> bool:
    """Return whether a name or an IP address is that of this machine."""
    return bool(LOOPBACK.fullmatch(f"[{host}]" if ":" in host else host.lower()))
