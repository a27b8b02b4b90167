"""Checks of requests to Dash's own addresses, made before Dash reads them.

Dash answers many requests that no page would send with status 500.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from dash.exceptions import DependencyException, InvalidResourceError
from flask import Flask, abort, request
from werkzeug.exceptions import NotFound

from queries.question_draft import DraftText

CALLBACKS = "/_dash-update-component"
SUITES = "/_dash-component-suites/"


class AddressToDraw(msgspec.Struct):
    """The page or part of a page that ``dashboard.app_shell.draw`` is asked to draw."""

    path: str
    query: str
    page: bool
    draft: DraftText | None = None


class _Property(msgspec.Struct):
    id: str
    property: str


class _Request(msgspec.Struct):
    id: Literal["request"]
    property: Literal["data"]
    value: AddressToDraw


class CallbackRequest(msgspec.Struct):
    """The body of a request to the server's only callback."""

    output: Literal["answer.data"]
    outputs: _Property
    inputs: tuple[_Request]
    changedPropIds: list[str]  # Dash's name
    state: tuple[()] = ()


def install(server: Flask) -> None:
    """Make a server refuse requests that no page sends."""
    server.before_request(_check)
    for no_such_file in (DependencyException, InvalidResourceError):
        server.register_error_handler(no_such_file, lambda error: NotFound())


def _check() -> None:
    path = request.path
    if not path.startswith("/_"):
        return
    if request.url_rule is not None and request.url_rule.rule == "/<path:path>":
        abort(404)  # no page's address begins with /_
    if path.startswith(SUITES) and (".." in path or not path.isprintable()):
        abort(404)
    if path == CALLBACKS:
        try:
            msgspec.convert(request.get_json(), CallbackRequest)
        except msgspec.ValidationError as error:
            abort(400, f"The body is not what a page sends: {error}")
