"""The blueprint of the JSON addresses: how each is declared and documented, and what it answers where something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import cleandoc
from typing import Any, Concatenate

from flask import Blueprint, Response, current_app, request

from dashboard.api.responses import error_response
from dashboard.error_messages import error_message
from dashboard.service import service
from dashboard.uploads.access import Denied
from data.store import StoreError
from queries.parameters import BadRequest, P, Parameters
from queries.selection import Request, read_parameters

api = Blueprint("api", __name__)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Route:
    """One address, for the documentation.

    Attributes:
        address: method and path.
        gives: what it answers, the docstring of its function.
        takes: its own keys.
        selection: whether it also takes those of the selection.
    """

    address: str
    gives: str
    takes: type[Parameters]
    selection: bool = False


ROUTES: list[Route] = []


def document(address: str, view: Callable[..., Response], takes: type[Parameters], selection: bool = False) -> None:
    """Add an address to the documentation."""
    ROUTES.append(Route(address, cleandoc(view.__doc__ or ""), takes, selection))


def get(
    path: str, takes: type[P], **options: Any
) -> Callable[[Callable[Concatenate[P, ...], Response]], Callable[Concatenate[P, ...], Response]]:
    """Declare an address without a selection. Its function gets its parameters, then the parts of its path."""

    def declare(view: Callable[Concatenate[P, ...], Response]) -> Callable[Concatenate[P, ...], Response]:
        @wraps(view)
        def answer(**parts: Any) -> Response:
            return view(read_parameters(pairs(), takes), **parts)

        document(f"GET {path}", view, takes)
        api.add_url_rule(path, endpoint=f"{view.__name__}-{len(ROUTES)}", view_func=answer, **options)
        return view

    return declare


def get_selected(
    path: str, takes: type[P]
) -> Callable[[Callable[Concatenate[Request[P], ...], Response]], Callable[Concatenate[Request[P], ...], Response]]:
    """Declare an address of a selection. Its function gets the request, then the parts of its path."""

    def declare(view: Callable[Concatenate[Request[P], ...], Response]) -> Callable[Concatenate[Request[P], ...], Response]:
        @wraps(view)
        def answer(**parts: str) -> Response:
            return view(service().read(pairs(), takes, parts.get("dataset")), **parts)

        document(f"GET {path}", view, takes, selection=True)
        api.add_url_rule(path, view_func=answer)
        return view

    return declare


def pairs() -> list[tuple[str, str]]:
    """Keys and values of this request's query string, in order."""
    return list(request.args.items(multi=True))


@api.errorhandler(BadRequest)
def bad_request(error: BadRequest) -> Response:
    """The address names something unknown."""
    return error_response(error.code, error_message(error), error.status, error.field, error.allowed)


@api.errorhandler(Denied)
def denied(error: Denied) -> Response:
    """The client may not do this, or not now. Checked before the address is read."""
    answer = error_response(error.code, error.message, error.status, error.field, error.allowed)
    answer.headers.extend(error.headers)
    return answer


@api.errorhandler(StoreError)
def no_store(error: StoreError) -> Response:
    """The store cannot be read."""
    return error_response("store_unavailable", error_message(error), 503)


@api.route("/api", defaults={"rest": ""}, strict_slashes=False, methods=METHODS)
@api.route("/api/<path:rest>", methods=METHODS)
def nowhere(rest: str) -> Response:
    """Any other address below /api."""
    return error_response("unknown_address", f"There is nothing at /api/{rest} for {request.method}.", 404, allowed=addresses())


def addresses() -> list[str]:
    """The addresses of this blueprint."""
    rules = (str(rule) for rule in current_app.url_map.iter_rules() if rule.endpoint.startswith(f"{api.name}."))
    return sorted(rule for rule in rules if rule not in ("/api", "/api/<path:rest>"))
