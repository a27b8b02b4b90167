"""Health checks: whether the service is alive, and whether it is ready to answer."""

from __future__ import annotations

import logging

from flask import Response

from dashboard.http.responses import error_response, json_response
from dashboard.registry.addresses import accept
from dashboard.service import service
from dashboard.settings import VERSION
from data.store import DamagedStore

log = logging.getLogger(__name__)

REGISTER_AGE = 10.0  # seconds; data is still served after this, but other hosts may have a newer version


@accept("GET", "/healthz")
def healthz() -> Response:
    """Whether the server is alive, with the version of Clueline."""
    return json_response({"status": "ok", "version": VERSION})


@accept("GET", "/readyz")
def readyz() -> Response:
    """Whether the store can be read, with its data version. 503 with `draining` while the server is shutting down, with
    `register_away` if the store's PostgreSQL server has not been reached for 10 s, and with `store_unavailable` if a file of the
    current version is missing or corrupted.
    """
    if service().draining:
        return error_response("draining", "This server is shutting down.", 503)
    age = service().store.register.age()
    if age > REGISTER_AGE:
        return error_response("register_away", f"The register of the store was last reached {age:.0f} s ago.", 503)
    snapshot = service().store.snapshot()  # rights are not checked, because none of its contents are in the response
    snapshot.rows("select count(*) from datasets")
    if age == 0:
        service().store.check_catalogue()
    damage = service().version_check.damage(snapshot)
    if damage is not None:
        log.error("%s", damage)
        raise DamagedStore("a file of the current version is missing or corrupted")  # file names contain dataset names
    return json_response({"status": "ready", "data_version": snapshot.version})
