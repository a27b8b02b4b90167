"""Cite: what a paper needs from another page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component
from flask import request as http_request

from dashboard.citation.view_citation import cite
from dashboard.components.citation import citation_sections
from dashboard.components.links import address, page_link
from dashboard.page_registry import Page, PageParameters, PageRequest, register
from dashboard.shared_parameters import View

PATH = "/cite"


class CitePage(PageParameters, frozen=True):
    """The view that is cited."""

    view: Annotated[str, View("the page that is cited: its path and query; the leaderboard of the dataset by default")] = ""


def draw(request: PageRequest[CitePage]) -> Sequence[Component | None]:
    """Draw the permanent link, the methods paragraph, the table, the references, and the script."""
    view = request.parameters.view or address("/", [("dataset", request.selection.dataset)])
    citation = cite(view, http_request.host_url.rstrip("/"))
    return [
        html.Div(
            [
                html.P([page_link("Back to the view", href=view)], className="crumbs"),
                html.H1(f"Cite: {citation.title}"),
                html.P(
                    "What a paper needs from this view. The link pins the data: as long as the questions and these runs are the "
                    "same, it shows the same digits; otherwise it says what changed.",
                    className="lead",
                ),
            ],
            className="heading question-heading",
        ),
        *citation_sections(citation),
    ]


PAGE = register(Page(name="cite", path=PATH, title="Cite", draw=draw, parameters=CitePage, filters=()))
