"""Limits on every request (host name, size, time) and security headers on every response."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from dash import Dash
from flask import Flask, Response, redirect, request
from flask.typing import ResponseReturnValue
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from clueline.dashboard.access import trusted_proxies
from clueline.dashboard.access.dash_requests import CALLBACKS
from clueline.dashboard.access.providers import RequestDenied, shown
from clueline.dashboard.access.providers.oidc import CALLBACK
from clueline.dashboard.access.rights import Access
from clueline.dashboard.http.paths import address
from clueline.dashboard.http.slow_clients import BROKEN_OFF, MAX_BODY, TOO_LARGE, UPLOADS, BodyRefused
from clueline.dashboard.settings import Settings
from clueline.data.store import StoreError

MAX_QUERY = 8000  # characters
# Addresses that show nothing from the store. Dash's layout, the frame of all pages, is requested without a signed link's key.
PUBLIC = (
    "/healthz", "/readyz", "/login", "/login/oidc", CALLBACK, "/logout", "/_dash-layout", "/_dash-dependencies",
    "/play", "/api/v1/play", "/api/v1/play/answers", "/api/v1/play/words", "/api/v1/play/models", "/api/v1/play/result",
    "/api/v1/play/erase",  # play addresses need the secret of a session
)  # fmt: skip
PUBLIC_FOLDERS = ("/assets/", "/_dash-component-suites/")
PAGES = ("/", "/<path:path>")  # Dash's rules for the addresses of pages
DOCUMENTS = ("/api", "/docs", "/docs/<path:name>")  # these send a visitor to the login page, too
NEVER_EMBEDDED = ("/gradings", "/login", "/runs", "/upload", "/write")  # pages that change something
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


SCHEMES = ("http", "https")  # that links of this server can have


def install(server: Flask, app: Dash, settings: Settings, access: Access, refuse: Callable[[RequestDenied], Response]) -> None:
    """Check every request to a server before it is handled, and add headers to every response.

    ``refuse`` returns the response to a request that is denied.
    """
    server.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    trusted_proxies.install(server, settings.trusted_proxies)
    server.before_request(partial(_check_request, access))
    server.before_request(partial(_check_reading, access))
    server.register_error_handler(RequestDenied, refuse)
    server.register_error_handler(BodyRefused, lambda error: refuse(_denied(error)))
    policies: dict[bool, str] = {}

    def with_headers(response: Response) -> Response:
        framed = bool(settings.embed) and _may_be_framed()
        if framed not in policies:  # not built earlier, because Dash knows its inline scripts only once all pages are registered
            policies[framed] = content_security_policy(app, " ".join(settings.embed) if framed else "'none'")
        response.headers["Content-Security-Policy"] = policies[framed]
        for name, value in HEADERS.items():
            if framed and name == "X-Frame-Options":  # this header cannot list origins
                continue
            response.headers.setdefault(name, value)
        if not request.path.startswith(PUBLIC_FOLDERS):  # answers can depend on who asks, so no cache may share them
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    server.after_request(with_headers)


def _may_be_framed() -> bool:
    """Whether the request is for a view with ``embed=1``."""
    page = request.url_rule is not None and request.url_rule.rule in PAGES
    return page and request.args.get("embed") == "1" and not request.path.startswith(NEVER_EMBEDDED)


def content_security_policy(app: Dash, ancestors: str) -> str:
    """Return the ``Content-Security-Policy`` that lets pages run, show and request only what this server sends.

    All pages of the app must be registered. Dash's own inline scripts are allowed by their hashes. Inline styles are allowed
    because Plotly and ag-grid set them. ``ancestors`` are the origins that may show the answer in a frame, separated by spaces,
    or ``'none'``.
    """
    return "; ".join((
        "default-src 'self'",
        f"script-src 'self' {' '.join(dict.fromkeys(app.csp_hashes()))}",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        f"frame-ancestors {ancestors}",
    ))  # fmt: skip


def _check_request(access: Access) -> None:
    """Refuse a request with a wrong scheme or host, or a query string that is too long. Read its body, unless it is an upload."""
    if request.scheme not in SCHEMES:
        raise RequestDenied(
            400,
            "bad_scheme",
            f"The header `X-Forwarded-Proto` of the proxy is {shown(request.scheme)}. It must be http or https.",
        )
    named = re.match(r"https?://([^/?#]*)", request.environ.get("RAW_URI", ""), re.IGNORECASE)
    if named and named[1].lower() != request.host.lower():  # in GET http://HOST/ the host of the address counts
        raise RequestDenied(400, "two_hosts", "The address and the header `Host` name different hosts.")
    access.check_host()
    access.proxy.name()  # a forged user name is refused everywhere, so that nobody believes it works
    if len(request.query_string) > MAX_QUERY:
        raise RequestDenied(414, "too_long", f"The query string is longer than {MAX_QUERY:,} characters.")
    if request.method == "POST" and request.path in UPLOADS:
        return  # the endpoint reads the body, once it has checked who sends it
    if request.content_length or "Transfer-Encoding" in request.headers:
        try:
            request.get_data()
        except RequestEntityTooLarge:
            raise BodyRefused(*TOO_LARGE) from None
        except (ClientDisconnected, ParseException):
            raise BodyRefused(*BROKEN_OFF) from None


def _denied(error: BodyRefused) -> RequestDenied:
    return RequestDenied(error.status, error.code, str(error), headers={"Retry-After": "5"} if error.status == 503 else {})


def _check_reading(access: Access) -> ResponseReturnValue | None:
    """Refuse readers who may read nothing, or send a visitor to the login page.

    The callback that draws pages is not checked here: it says on the page that the visitor must log in.
    """
    if request.path in (*PUBLIC, CALLBACKS) or request.path.startswith(PUBLIC_FOLDERS):
        return None
    if access.reading == "open" and request.method not in ("GET", "HEAD"):
        return None  # the endpoints that change something check rights themselves
    try:
        access.check_reading()
    except RequestDenied as denied:
        page = (
            request.method in ("GET", "HEAD") and request.url_rule is not None and request.url_rule.rule in (*PAGES, *DOCUMENTS)
        )
        if page and denied.code == "no_token" and access.offers_login():
            back = address(quote(request.path), list(request.args.items(multi=True)))
            return redirect(address("/login", [("next", back)]), 303)
        raise
    except StoreError:
        if request.path.startswith("/api/"):
            raise
        # Pages show what is wrong with the store.
    return None
