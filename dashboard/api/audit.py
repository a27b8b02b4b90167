"""Who changed what, and who was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import json_response
from dashboard.service import service
from data.store.audit import Audit, AuditEvent
from queries.selection.parameter_kinds import Text, Whole
from queries.selection.view_parameters_base import Parameters

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
    """Return a function that says whether the reader may read an event. Events about datasets hidden from them are not shown."""
    snapshot = service().snapshot()
    names = service().access.hidden_names()
    if not names:
        return lambda event: True
    runs = {run for (run,) in snapshot.rows("select run from runs")}

    def may_be_read(event: AuditEvent) -> bool:
        named = any(name in text for name in names for text in (event.dataset or "", event.attempt or ""))
        return not named and (event.run is None or event.run in runs)

    return may_be_read


@get("/api/v1/audit", AuditParameters, right="upload")
def get_audit(parameters: AuditParameters) -> Response:
    """Who published, withdrew and restored runs, added gradings, corrected grades, replaced questions, created and revoked
    tokens, and which attempts were refused; newest first. Needs the same rights as an upload, such as a token. Changes are kept
    for good, but only the last few thousand refused attempts. Events about datasets that the reader may not read are left out.
    """
    events = Audit(service().store.register).page(parameters.limit + 1, parameters.cursor, _readable_filter())
    following = events[parameters.limit - 1].id if len(events) > parameters.limit else None
    return json_response(AuditPage(events[: parameters.limit], following))
