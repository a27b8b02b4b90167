"""``GET /api/v1/report.html``: views as one file, with the rights of whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from flask import Response

from dashboard.http.responses import attachment_headers
from dashboard.registry.addresses import get
from dashboard.registry.keys import View
from dashboard.service import service
from dashboard.views.report.file import report_file
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest, Texts
from queries.selection.view_parameters_base import Parameters

MAX_VIEWS = 24


@dataclass(frozen=True)
class Views(Texts):
    """Paths and query strings of pages on this server."""

    longest: ClassVar[int | None] = View.longest

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        """See ``Kind``."""
        if len(texts) > MAX_VIEWS:
            raise BadRequest("bad_value", f"A file holds at most {MAX_VIEWS} views, not {len(texts)}.", key)
        return super().read(key, [View("").read(key, [text], facets) for text in texts], facets)


class ReportParameters(Parameters, frozen=True):
    """Which views are saved."""

    view: Annotated[
        tuple[str, ...],
        Views("a page to save: its path and query, percent-encoded as one value; `/` by default"),
    ] = ("/",)


@get("/api/v1/report.html", ReportParameters)
def get_report(parameters: ReportParameters) -> Response:
    """Pages as one HTML file that opens without a server and requests nothing, with figures, tables that sort, and methods."""
    body = report_file(parameters.view, url=service().shared_url())
    return Response(body, mimetype="text/html", headers=attachment_headers("clueline-report.html"))
