"""Is it there, and can it answer."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.responses import json_response
from dashboard.service import service


@api.get("/healthz")
def healthz() -> Response:
    """Alive."""
    return json_response({"status": "ok"})


@api.get("/readyz")
def readyz() -> Response:
    """Store readable, with its version."""
    snapshot = service().snapshot()
    snapshot.rows("select count(*) from datasets")
    return json_response({"status": "ready", "data_version": snapshot.version})
