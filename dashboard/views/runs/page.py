"""The runs: where each came from, what was imported, and what was withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.html import data, page_link
from dashboard.views.runs.table import runs_table
from data.plurals import counted
from queries.runs import runs
from queries.selection.parameter_kinds import Choice

PATH = "/runs"
OFF = "This server accepts no uploads and no changes to runs (CLUELINE_UPLOADS=off); its operator imports and withdraws runs."


class RunsPage(PageParameters, frozen=True):
    """The datasets whose runs are listed."""

    show: Annotated[str, Choice("`all`: the runs of every dataset", ("all",), blank=True)] = ""


def draw(request: PageRequest[RunsPage]) -> Sequence[Component | None]:
    """Draw the runs that count, and those that were withdrawn."""
    every_dataset = request.parameters.show == "all"
    result = service().ask(runs, None if every_dataset else request.selection.dataset).runs
    titles = {dataset.dataset: dataset.title for dataset in service().datasets()}
    current = [run for run in result if not run.withdrawn_at]
    withdrawn = [run for run in result if run.withdrawn_at]
    mode = service().access.page_mode()
    keys = [] if every_dataset else [("dataset", request.selection.dataset)]
    where = "All datasets" if every_dataset else request.facets.title
    other = (
        page_link(f"{request.facets.title} only", href=request.link(PATH, show=None))
        if every_dataset
        else page_link("All datasets", href=request.link(PATH, show="all"))
    )
    return [
        html.Div([html.H1("Runs"), html.P(f"{where}: where {counted(len(current), 'run')} came from", className="lead"), other,
                  page_link("Upload a run", href=request.link("/upload")) if mode != "off" else None], className="heading"),
        html.P(OFF, className="note") if mode == "off" else html.Div(className="api-token", **data(mode=mode)),
        html.P(className="status-message", role="status", id="runs-message"),
        runs_table(current, titles, every_dataset, mode)
        if current
        else html.Section([html.H2("No runs yet"), html.P("None was imported, or all were withdrawn.")], className="panel empty"),
        html.Section(
            [
                html.H2("Withdrawn"),
                html.P("Pages leave them out unless the address names them. Nothing was deleted.", className="note"),
                runs_table(withdrawn, titles, every_dataset, mode),
            ],
            className="section withdrawn",
        )
        if withdrawn
        else None,
        html.P(["To see where graders differ, and to correct single grades: ",
                page_link("Gradings", href=request.link("/gradings")), "."], className="note"),
        html.P(
            [
                "As a table: ",
                html.A("CSV", href=service().access.address_of_view("/api/v1/runs.csv", keys)),
                ". The downloads hold the answers as imported, by question id and clue; importing one again gives the same run.",
            ],
            className="note",
        ),
    ]  # fmt: skip


PAGE = register(Page(name="runs", path=PATH, title="Runs", place=80, draw=draw, parameters=RunsPage, filters=()))
