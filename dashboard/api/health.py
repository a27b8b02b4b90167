"""Whether the service is alive, and whether it can answer."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api, document
from dashboard.api.responses import error_response, json_response
from dashboard.service import service
from dashboard.version import VERSION
from queries.parameters import NoParameters


@api.get("/healthz")
def healthz() -> Response:
    """Alive, with the version of Clueline."""
    return json_response({"status": "ok", "version": VERSION})


@api.get("/readyz")
def readyz() -> Response:
    """Store readable, with its version; 503 with `draining` while the server is shutting down."""
    if service().draining:
        return error_response("draining", "This server is shutting down.", 503)
    snapshot = service().snapshot()
    snapshot.rows("select count(*) from datasets")
    return json_response({"status": "ready", "data_version": snapshot.version})


document("GET /healthz", healthz, NoParameters)
document("GET /readyz", readyz, NoParameters)
