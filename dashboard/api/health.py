"""Whether the service is alive, and whether it can answer."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api, document
from dashboard.api.responses import error_response, json_response
from dashboard.service import service
from dashboard.version import VERSION
from queries.parameters import NoParameters

REGISTER_AGE = 10.0  # seconds; older data may be served, but other hosts may know more


@api.get("/healthz")
def healthz() -> Response:
    """Alive, with the version of Clueline."""
    return json_response({"status": "ok", "version": VERSION})


@api.get("/readyz")
def readyz() -> Response:
    """Store readable, with its version. 503 with `draining` while the server is shutting down, and with `register_away` when the
    PostgreSQL server of the store has not been reached for 10 s.
    """
    if service().draining:
        return error_response("draining", "This server is shutting down.", 503)
    age = service().store.register.age()
    if age > REGISTER_AGE:
        return error_response("register_away", f"The register of the store was last reached {age:.0f} s ago.", 503)
    snapshot = service().snapshot()
    snapshot.rows("select count(*) from datasets")
    return json_response({"status": "ready", "data_version": snapshot.version})


document("GET /healthz", healthz, NoParameters)
document("GET /readyz", readyz, NoParameters)
