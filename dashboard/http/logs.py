"""Logging as text or JSON lines. Lines have the id of their request and no secrets."""

from __future__ import annotations

import logging
import re
import secrets
import time
from urllib.parse import quote

from flask import Flask, Response, g, has_request_context, request
from pythonjsonlogger.orjson import OrjsonFormatter

from clueline.dashboard.settings import Settings

HEADER = "X-Request-ID"
WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,128}")  # an id that we accept from a client or a proxy
SECRETS = re.compile(
    r"""(?P<token>clueline_)[A-Za-z0-9_-]{16,}     # a token, by its prefix (data.store.tokens_and_readers)
    | (?P<header>\b(?:bearer|basic)\s+)[^\s"'\\]+  # the value of an Authorization header
    | (?P<url>://)[^\s/@"']*@                      # name and password in an address, such as that of Redis
    | (?P<pair>\b(?:password|secret)\w*=)[^\s,;&)]+ # as of PostgreSQL's connections
    | (?P<quoted>\b(?:password|secret)\s+)'[^']*'  # as in SQL
    """,
    re.VERBOSE | re.IGNORECASE,
)
TEXT = "[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s%(suffix)s"
JSON_FIELDS = ["levelname", "name", "message", "process", "request_id"]
JSON_NAMES = {"levelname": "level", "name": "logger"}
# Requests for these are logged at level debug.
QUIET = ("/healthz", "/readyz", "/assets/", "/_dash-component-suites/", "/api/v1/play/words")

log = logging.getLogger(__name__)


class LineFormatter(logging.Formatter):
    """Formats a record as a line of text or JSON, with the request id and without secrets."""

    def __init__(self, log_format: str, request: str = "") -> None:
        super().__init__(TEXT)
        self._request = request  # id of the only request that this process works for; blank if it serves many
        self._json = OrjsonFormatter(JSON_FIELDS, rename_fields=JSON_NAMES, timestamp="time") if log_format == "json" else None

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        request = request_id() or self._request
        record.__dict__.update(request_id=request or None, suffix=f" (request {request})" if request else "")
        line = self._json.format(record) if self._json else super().format(record)
        return without_secrets(line)


def without_secrets(line: str) -> str:
    """Return a line with tokens and passwords replaced.

    >>> without_secrets("Authorization: Bearer abc to redis://user:secret@host:6379")
    'Authorization: Bearer *** to redis://***@host:6379'
    """
    return SECRETS.sub(lambda match: f"{match[match.lastgroup or 0]}***{'@' if match['url'] else ''}", line)


def configure(settings: Settings, request: str = "") -> None:
    """Log to standard error as the settings say, in a process that serves or, with an id, works for one request."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(settings.log_format, request))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    logging.getLogger("clueline").setLevel(settings.log_level.upper())
    logging.getLogger("clueline.audit").setLevel(logging.INFO)  # logged at any log level


def request_id() -> str:
    """Return the id of the request that is being handled; blank if there is none."""
    return str(g.get("request_id", "")) if has_request_context() else ""


def install(server: Flask) -> None:
    """Give each request an id, which is sent with the response, and log a line when it is answered."""
    server.before_request(_begin)
    server.after_request(_end)


def _begin() -> None:
    given = request.headers.get(HEADER, "")
    g.request_id = given if WELL_FORMED.fullmatch(given) else secrets.token_hex(8)
    g.began = time.monotonic()


def _end(response: Response) -> Response:
    response.headers[HEADER] = g.request_id
    path = quote(request.path)[:200]  # without the query string, which could contain a token
    log.log(
        logging.DEBUG if path.startswith(QUIET) else logging.INFO,
        "%s %s: %d",
        request.method,
        path,
        response.status_code,
        extra={
            "method": request.method,
            "path": path,
            "status": response.status_code,
            "seconds": round(time.monotonic() - g.began, 4),
            "address": request.remote_addr,
            "writer": g.get("writer"),
        },
    )
    return response
