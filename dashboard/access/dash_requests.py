"""Checks requests to Dash's own addresses before Dash reads them, because it answers malformed ones with status 500."""

from __future__ import annotations

from typing import Literal

import msgspec
from dash.exceptions import DependencyException, InvalidResourceError
from flask import Flask, Response, abort, request
from werkzeug.exceptions import NotFound

from clueline.dashboard.http.bodies import InvalidJson, decode_json, error_response
from clueline.queries.drafts import DraftText

CALLBACKS = "/_dash-update-component"
SUITES = "/_dash-component-suites/"


# These structs forbid unknown fields: Dash reads the body again, with a parser that fails on values that are skipped here.


class AddressToDraw(msgspec.Struct, forbid_unknown_fields=True):
    """The page or part of a page that ``dashboard.shell.draw`` is asked to draw."""

    path: str
    query: str
    page: bool
    draft: DraftText | None = None


class _Output(msgspec.Struct, forbid_unknown_fields=True):
    id: Literal["answer"]
    property: Literal["data"]


class _Input(msgspec.Struct, forbid_unknown_fields=True):
    id: Literal["request"]
    property: Literal["data"]
    value: AddressToDraw


class CallbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to the server's only callback. The names are Dash's."""

    output: Literal["answer.data"]
    outputs: _Output
    inputs: tuple[_Input]
    changedPropIds: list[Literal["request.data"]]
    parsedChangedPropsIds: list[Literal["request.data"]] = []
    state: tuple[()] = ()


def install(server: Flask) -> None:
    """Make a server refuse requests that no page sends."""
    server.before_request(_check)
    for no_such_file in (DependencyException, InvalidResourceError):
        server.register_error_handler(no_such_file, lambda error: NotFound())


def drawn_address() -> AddressToDraw:
    """Return what this request to the callback asks for. Raises ``InvalidJson`` if the body is not what a page sends."""
    return decode_json(request.get_data(), CallbackRequest).inputs[0].value


def _check() -> Response | None:
    path = request.path
    if not path.startswith("/_"):
        return None
    if request.url_rule is not None and request.url_rule.rule == "/<path:path>":
        abort(404)  # no page's address begins with /_
    if path.startswith(SUITES) and (".." in path or not path.isprintable()):
        abort(404)
    if path == CALLBACKS:
        if not request.is_json:
            return error_response("unsupported_type", "The body must be of type application/json.", 415)
        try:
            drawn_address()
        except InvalidJson as error:
            return error_response("bad_value", f"The body is not what a page sends: {error}.", 400)
    return None
