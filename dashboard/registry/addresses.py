"""The blueprint of the JSON addresses: how an address is declared and documented, and how it answers errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Concatenate, TypeVar

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import HTTPException

from clueline.dashboard.access import signed_links
from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.http.bodies import error_response
from clueline.dashboard.http.messages import error_message, public_message, what_changed
from clueline.dashboard.registry.run_names import with_names
from clueline.dashboard.service import service
from clueline.data.store import StoreError
from clueline.data.store.tokens_and_readers import Right, TokenError
from clueline.queries.changes import version_changes
from clueline.queries.selection import Request, Selection, read_parameters
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import NoParameters, P, Parameters

api = Blueprint("api", __name__)
log = logging.getLogger(__name__)
VERSION = "version"  # the key that pins a data version
PART = re.compile(r"<(?:path:)?(\w+)>")  # a variable part of a Flask rule
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
METHODS = ("GET", *CHANGING)


@dataclass(frozen=True)
class Route:
    """One address, as the documentation lists it.

    ``address`` is method and path. ``gives`` is the docstring of its function, and ``takes`` its own keys. ``view`` is its
    function, if ``get`` declared it. ``answer`` is the struct that it returns as JSON, if it is a view.
    ``page`` says whether it answers with pages, also to errors.
    """

    address: str
    gives: str
    takes: type[Parameters]
    selection: bool = False
    view: Callable[..., Response] | None = None
    answer: type | None = None
    page: bool = False


ROUTES: list[Route] = []


def document(address: str, view: Callable[..., object], takes: type[Parameters], *, page: bool = False) -> None:
    """Add an address to the documentation."""
    ROUTES.append(Route(address, cleandoc(view.__doc__ or ""), takes, page=page))


Function = TypeVar("Function", bound=Callable[..., Response])


def accept(method: str, path: str, takes: type[Parameters] = NoParameters) -> Callable[[Function], Function]:
    """Declare an address that checks rights and reads the request itself, documented by the docstring of its function."""

    def declare(view: Function) -> Function:
        document(f"{method} {path}", view, takes)
        api.add_url_rule(path, view_func=view, methods=[method])
        return view

    return declare


def add(
    path: str,
    view: Callable[..., Response],
    takes: type[Parameters],
    gives: str,
    *,
    selection: bool,
    right: Right = "read",
    answers: type | None = None,
    **options: Any,
) -> None:
    """Serve and document a GET address, whose ``path`` is a Flask rule.

    ``view`` gets the request or, without a selection, the parameters; then the parts of the path. ``right`` is needed in addition
    to reading. ``answers`` is the struct that it returns as JSON.
    """

    def answer(**parts: Any) -> Response:
        if selection:
            return _selection_response(view, takes, pairs(), parts)
        service().access.check(right)
        return with_names(view(read_parameters(pairs(), takes), **parts))

    ROUTES.append(Route(f"GET {path}", cleandoc(gives), takes, selection, view, answers))
    api.add_url_rule(path, endpoint=f"GET-{len(ROUTES)}", view_func=answer, **options)


def get(path: str, takes: type[Parameters], *, selection: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Declare a GET address, documented by the docstring of its function; see ``add``."""

    def declare(view: Function) -> Function:
        add(path, view, takes, view.__doc__ or "", selection=selection, **options)
        return view

    return declare


def _selection_response(
    view: Callable[Concatenate[Request[P], ...], Response],
    takes: type[P],
    query: Sequence[tuple[str, str]],
    parts: Mapping[str, str],
) -> Response:
    """Return the response of an address that takes a selection to a query string."""
    read = service().read([pair for pair in query if pair[0] != VERSION], takes, parts.get("dataset"))
    check_version(read.selection, [text for key, text in query if key == VERSION])
    return with_names(view(read, **parts))


def check_version(selection: Selection, versions: Iterable[str]) -> None:
    """Refuse a pinned data version whose figures for this selection have changed since.

    Raises ``BadRequest`` with status 409, saying what changed.
    """
    for version in versions:
        changes = service().ask(version_changes, selection, version)
        if not changes.same:
            message = f"{what_changed(changes)} Leave out `{VERSION}` to get the current figures."
            raise BadRequest("data_changed", message, VERSION, status=409, rules_changed=changes.rules_changed)


def answer_of(path: str, query: Sequence[tuple[str, str]]) -> Response | None:
    """Return the response of a documented GET address to somebody who has the store itself; None if there is no such address.

    No token is needed, and no dataset is hidden. ``path`` has values for its variable parts. Raises ``BadRequest`` if the address
    itself would answer with this error.
    """
    try:
        rule, parts = current_app.url_map.bind("localhost").match(path, return_rule=True)
    except HTTPException:
        return None
    route = next((route for route in ROUTES if route.address == f"GET {rule.rule}"), None)
    if route is None or route.view is None:
        return None
    if route.selection:
        return _selection_response(route.view, route.takes, query, parts)
    return with_names(route.view(read_parameters(query, route.takes), **parts))


def readable_addresses() -> list[str]:
    """Return the paths that ``answer_of`` answers, as their routes declare them."""
    return sorted(route.address.removeprefix("GET ") for route in ROUTES if route.view is not None)


def pairs() -> list[tuple[str, str]]:
    """Return keys and values of this request's query string, in order, without the signature of a signed link."""
    return [(key, value) for key, value in request.args.items(multi=True) if key != signed_links.KEY]


def writer(*, admin: bool = False) -> str:
    """Return who sends a change that takes no keys. Raises ``RequestDenied`` without the right, then ``BadRequest`` for a key."""
    by = service().access.admin() if admin else service().access.writer()
    read_parameters(pairs(), NoParameters)
    return by


@contextmanager
def refusal(kind: type[Exception], code: str, field: str | None = None, status: int = 422) -> Iterator[None]:
    """Answer an error of this kind with its message as a sentence."""
    try:
        yield
    except kind as error:
        raise BadRequest(code, sentence(error), field, status=status) from None


def sentence(error: Exception) -> str:
    """Return the message of an error as a sentence."""
    return f"{str(error)[0].upper()}{str(error)[1:]}."


@api.after_request
def name_content(response: Response) -> Response:
    """Let a client that has the same answer already (``If-None-Match``) get 304 instead of sending it again."""
    if request.method == "GET" and response.status_code == 200 and not response.is_streamed:
        response.add_etag()
        response.make_conditional(request)
    return response


@api.errorhandler(BadRequest)
def bad_request(error: BadRequest) -> Response:
    """Answer a request that names something unknown or has an invalid value."""
    answer = error_response(error.code, error_message(error), error.status, error.field, error.allowed, **error.more)
    if error.retry_after is not None:
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


@api.errorhandler(RequestDenied)
def denied(error: RequestDenied) -> Response:
    """Answer a request that the client may not make, or not now. Rights are checked before the query string is read."""
    answer = error_response(error.code, error.message, error.status, error.field, error.allowed)
    answer.headers.extend(error.headers)
    return answer


@api.errorhandler(TokenError)
@api.errorhandler(StoreError)
def no_store(error: StoreError | TokenError) -> Response:
    """Answer a request that failed because the store, or what it says of tokens and readers, cannot be read or written."""
    log.error("%s", error)
    problem = StoreError(str(error)) if isinstance(error, TokenError) else error
    return error_response("store_unavailable", public_message(problem, service().store), 503)


@api.route("/api", defaults={"rest": ""}, strict_slashes=False, methods=CHANGING)  # GET shows them to people
@api.route("/api/<path:rest>", methods=METHODS)
def unknown_address(rest: str) -> Response:
    """Answer 404 for any other address below /api, and 405 for one that has other methods."""
    if methods := _methods_of(f"/api/{rest}"):
        message = f"/api/{rest} does not answer {request.method}, but {', '.join(methods)}."
        answer = error_response("wrong_method", message, 405, allowed=methods)
        answer.headers["Allow"] = ", ".join(methods)
        return answer
    return error_response("unknown_address", f"There is nothing at /api/{rest} for {request.method}.", 404, allowed=addresses())


def _methods_of(path: str) -> list[str]:
    """Return the methods that a path of this blueprint answers; none if there is no such path."""
    routes, known = current_app.url_map.bind(""), []
    for method in METHODS:
        with suppress(HTTPException):
            endpoint, _ = routes.match(path, method)
            known += [] if endpoint == f"{api.name}.{unknown_address.__name__}" else [method]
    return known


def addresses() -> list[str]:
    """Return the paths of this blueprint, as its rules declare them."""
    rules = (str(rule) for rule in current_app.url_map.iter_rules() if rule.endpoint.startswith(f"{api.name}."))
    return sorted(rule for rule in rules if rule not in ("/api", "/api/<path:rest>"))
