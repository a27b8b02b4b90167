"""Everything a paper needs to cite a view, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated

from dash import html
from dash.development.base_component import Component
from flask import Response

from dashboard.http.messages import rules_that_changed
from dashboard.http.paths import address
from dashboard.http.responses import json_response
from dashboard.registry.addresses import get
from dashboard.registry.keys import View
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.html import aria, data, page_link
from dashboard.ui.section import heading, note, section
from dashboard.ui.table import PageColumn, html_table
from dashboard.views.cite.citation import Citation, cite
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
    return json_response(cite(parameters.view, service().url() or f"http://localhost:{service().settings.port}"))


PATH = "/cite"


class CitePage(PageParameters, frozen=True):
    """The view that is cited."""

    view: Annotated[str, View("the page that is cited: its path and query; the leaderboard of the dataset by default")] = ""


def draw(request: PageRequest[CitePage]) -> Sequence[Component | None]:
    """Draw the permanent link, the methods paragraph, the table, the references, and the script."""
    view = request.parameters.view or address("/", [("dataset", request.selection.dataset)])
    citation = cite(view, service().url())
    return [
        heading(
            f"Cite: {citation.title}",
            "What a paper needs from this view. The link pins the data: as long as the questions and these runs are the "
            "same, it shows the same digits; otherwise it says what changed.",
            crumbs=page_link("Back to the view", href=view),
        ),
        *citation_sections(citation),
    ]


PAGE = register(Page(name="cite", path=PATH, title="Cite", draw=draw, parameters=CitePage, filters=()))


def citation_sections(citation: Citation) -> list[Component | None]:
    """Return the link, the methods paragraph, the table and its formats, the references, and the script.

    If the view pins an earlier data version, what has changed since comes first.
    """
    left_out = citation.total - len(citation.rows)
    rules = citation.rules_changed
    columns = [PageColumn(name, itemgetter(place)) for place, name in enumerate(citation.columns)]
    csv = html.A("CSV", href=citation.csv, className="quiet", title="All columns and digits")
    return [
        note(f"{rules_that_changed(rules)} The figures below are today's.", role="note") if rules else None,
        _text("Permanent link", citation.permalink, f"Data version {citation.version}."),
        _text("Methods", citation.methods, "Check it against your view before you print it.", prose=True),
        section(
            html.Div([html.H2("Table"), csv], className="heading"),
            html_table(columns, citation.rows, "The table as printed") if citation.rows else "No rows.",
            f"{left_out:,} further rows are in the CSV." if left_out else None,
        ),
        _text("LaTeX", citation.latex, "Needs the package booktabs."),
        _text("Markdown", citation.markdown),
        _text("BibTeX", citation.bibtex or "% nothing to cite", "The papers that the metrics come from."),
        _text("Python", citation.script, "Prints the same table in full precision. See docs/client.md for what it needs."),
    ]


def _text(title: str, text: str, about: str = "", prose: bool = False) -> html.Section:
    """A text with a button that copies it."""
    button = html.Button("Copy", type="button", className="quiet", **data(copy="text"))
    return section(
        html.Div([html.H2(title), button], className="heading"),
        about,
        html.Pre(text, className="prose" if prose else "", tabIndex="0", role="region", **aria(label=title)),
        class_name="section citation",
    )
