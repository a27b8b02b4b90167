"""The audit log, and who may read a dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from urllib.parse import unquote

import msgspec
from flask import Response, current_app
from werkzeug.exceptions import HTTPException

from clueline.dashboard.http.bodies import json_response
from clueline.dashboard.registry.addresses import accept, get, pairs, sentence, writer
from clueline.dashboard.service import service
from clueline.data.store import StoreError
from clueline.data.store.audit import Audit, AuditEvent, is_shown
from clueline.data.store.tokens_and_readers import TokenError
from clueline.queries.selection import read_parameters
from clueline.queries.selection.parameter_kinds import BadRequest, Text, Texts, Whole
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

MAX_PAGE_SIZE = 1000


class AuditParameters(Parameters, frozen=True):
    """Which page of the events is returned."""

    limit: Annotated[int, Whole(f"how many events: 100; at most {MAX_PAGE_SIZE}", MAX_PAGE_SIZE)] = 100
    cursor: Annotated[str | None, Text("`next` of the previous page")] = None


class AuditPage(msgspec.Struct):
    """Events, newest first, and the cursor of older events; None if there are no more."""

    events: list[AuditEvent]
    next: str | None


def _readable_filter() -> Callable[[AuditEvent], bool]:
    """Return a function that says whether the reader sees an event. Those with the right ``admin`` see all."""
    if service().access.reader().has("admin"):
        return lambda event: True
    snapshot = service().snapshot()
    hidden = {*service().access.hidden_names()}
    runs = {run for (run,) in snapshot.rows("select run from runs")}
    return lambda event: is_shown(event, hidden, runs)


def _without_parts(event: AuditEvent) -> AuditEvent:
    """Return an event whose attempt has no variable parts, because somebody may have tried the name of a private dataset."""
    if event.attempt is None:
        return event
    method, _, path = event.attempt.partition(" ")
    try:
        rule = current_app.url_map.bind("localhost").match(unquote(path), method, return_rule=True)[0].rule
    except HTTPException:
        rule = "/<path:rest>"
    return msgspec.structs.replace(event, attempt=f"{method} {rule}")


@get("/api/v1/audit", AuditParameters, right="upload")
def get_audit(parameters: AuditParameters) -> Response:
    """Who published, withdrew and restored runs, added gradings, corrected grades, replaced questions, created and revoked
    tokens, and which attempts were refused; newest first. Needs the same rights as an upload, such as a token. Changes are kept
    for good, but only the last few thousand refused attempts. Only tokens with the right `admin` see events about tokens, those
    that do not say which datasets they concern, as earlier versions wrote some, and the variable parts of the addresses that
    were refused. Other events are left out unless the reader may read all datasets that they concern.
    """
    events = Audit(service().store.register).page(parameters.limit + 1, parameters.cursor, _readable_filter())
    following = events[parameters.limit - 1].id if len(events) > parameters.limit else None
    whole = service().access.reader().has("admin")
    listed = [event if whole else _without_parts(event) for event in events[: parameters.limit]]
    return json_response(AuditPage(listed, following))


class ReadersParameters(Parameters, frozen=True):
    """Who can read a private dataset."""

    reader: Annotated[
        tuple[str, ...],
        Texts("name of a token, or `user:NAME` for a user of a trusted proxy; without it, only tokens with the right `admin`"),
    ] = ()


class Readers(msgspec.Struct):
    """Whether a dataset is private, and who can read it in addition to tokens with the right ``admin``."""

    dataset: str
    private: bool
    readers: list[str]


@get("/api/v1/datasets/<dataset>/readers", NoParameters, right="admin")
def get_readers(parameters: NoParameters, dataset: str) -> Response:
    """Whether a dataset is private, and who can read it. Needs a token with the right `admin`."""
    return _readers(dataset)


@accept("PUT", "/api/v1/datasets/<dataset>/readers", ReadersParameters)
def put_readers(dataset: str) -> Response:
    """Make a dataset private: it then exists only for these readers and for tokens with the right `admin`. The dataset can be one
    that is not uploaded yet. Needs a token with the right `admin`.
    """
    by = service().access.admin()
    readers = read_parameters(pairs(), ReadersParameters).reader
    try:
        service().access.tokens.make_private(dataset, readers, by)
    except TokenError as error:
        if isinstance(error.__cause__, (OSError, StoreError)):
            raise
        raise BadRequest("unknown_value", sentence(error), "reader") from None
    return _readers(dataset)


@accept("DELETE", "/api/v1/datasets/<dataset>/readers")
def delete_readers(dataset: str) -> Response:
    """Make a dataset public: everybody who may read this server can read it. Needs a token with the right `admin`."""
    service().access.tokens.make_public(dataset, writer(admin=True))
    return _readers(dataset)


def _readers(dataset: str) -> Response:
    private = service().access.tokens.record().private
    return json_response(Readers(dataset, dataset in private, list(private.get(dataset, ()))))
