"""The blueprint that every address hangs on, and what it says where something is wrong."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, request

from dashboard.api.responses import error_response
from dashboard.uploads.access import Denied
from data.store.generations import StoreError
from queries.selection import BadRequest

api = Blueprint("api", __name__)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@api.errorhandler(BadRequest)
def bad_request(error: BadRequest) -> Response:
    """What an address names is unknown."""
    return error_response(error.code, error.message, error.status, error.field, error.allowed)


@api.errorhandler(Denied)
def denied(error: Denied) -> Response:
    """Whoever asks may not do this, or not now; said before any address is looked at, too."""
    answer = error_response(error.code, error.message, error.status, error.field, error.allowed)
    answer.headers.extend(error.headers)
    return answer


@api.errorhandler(StoreError)
def no_store(error: StoreError) -> Response:
    """The store cannot be read."""
    return error_response("store_unavailable", str(error), 503)


@api.route("/api", defaults={"rest": ""}, strict_slashes=False, methods=METHODS)
@api.route("/api/<path:rest>", methods=METHODS)
def nowhere(rest: str) -> Response:
    """Any other address below /api."""
    return error_response("unknown_address", f"There is nothing at /api/{rest} for {request.method}.", 404, allowed=addresses())


def addresses() -> list[str]:
    """The addresses of this blueprint."""
    rules = (str(rule) for rule in current_app.url_map.iter_rules() if rule.endpoint.startswith(f"{api.name}."))
    return sorted(rule for rule in rules if rule not in ("/api", "/api/<path:rest>"))
