"""What holds for every request and every answer: size, time, the name that the server is called by, headers for browsers."""

from __future__ import annotations

import time

from dash import Dash
from flask import Flask, Response, request

from dashboard.api.blueprint import denied
from dashboard.service import service
from dashboard.settings import Settings
from dashboard.uploads.access import Denied
from dashboard.uploads.body import patient

LARGEST_BODY = 8 * 2**20  # bytes, of every request but an upload
LONGEST_QUERY = 8000  # characters
PATIENCE = 30.0  # seconds for such a body
STREAMED = "api.post_runs"  # the endpoint that reads its body itself
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def install(server: Flask, app: Dash, settings: Settings) -> None:
    """Put a guard before the requests of a server and headers on its answers."""
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    server.before_request(_guard)
    server.register_error_handler(Denied, denied)
    policy: list[str] = []

    def with_headers(response: Response) -> Response:
        if not policy:  # the scripts that Dash puts into its page are known once every page is registered
            policy.append(content_security_policy(app))
        response.headers["Content-Security-Policy"] = policy[0]
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    server.after_request(with_headers)


def content_security_policy(app: Dash) -> str:
    """Only what this server sends is run, shown or asked; Dash's own inline scripts are named by their hashes.

    Styles may stand in elements: Plotly and ag-grid set them.
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
        "frame-ancestors 'none'",
    ))  # fmt: skip


def _guard() -> None:
    """Refuse what no request of ours is; take its body in, unless it is an upload."""
    service().access.check_host()
    if len(request.query_string) > LONGEST_QUERY:
        raise Denied(414, "too_long", f"The query string is longer than {LONGEST_QUERY:,} characters.")
    if request.endpoint != STREAMED and (request.content_length or "Transfer-Encoding" in request.headers):
        until = time.monotonic() + PATIENCE
        with patient(lambda: until):
            request.get_data()
