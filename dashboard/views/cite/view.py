"""Everything a paper needs to cite a view."""

from __future__ import annotations

from typing import Annotated

from flask import Response, has_request_context, request

from dashboard.registry.addresses import get
from dashboard.registry.keys import View
from dashboard.registry.responses import json_response
from dashboard.service import service
from dashboard.views.cite.citation import cite
from queries.selection.view_parameters_base import Parameters


class CiteParameters(Parameters, frozen=True):
    """Which view is cited."""

    view: Annotated[str, View("the page to cite: its path and query, percent-encoded as one value; `/` by default")] = "/"


@get("/api/v1/cite", CiteParameters)
def get_citation(parameters: CiteParameters) -> Response:
    """Everything a paper needs to cite a page: a link that pins the data, the table as LaTeX, Markdown and CSV, a paragraph on
    methods, BibTeX entries for the metrics, and a Python script that gets the same numbers.
    """
    # Outside a request, the best guess is a server on this machine.
    server = request.host_url.rstrip("/") if has_request_context() else f"http://localhost:{service().settings.port}"
    return json_response(cite(parameters.view, server))
