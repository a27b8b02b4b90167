"""The datasets: what each is, where it comes from, and whether it is simulated; and the file formats that can be imported."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.frame import samples_last
from dashboard.views.datasets.sections import dataset_card, formats_section
from data.readers import formats


def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """Draw a card per dataset, and the table of formats."""
    return [
        html.Div(
            [
                html.H1("Datasets"),
                html.P("What each dataset holds, where it comes from, and which files can be imported", className="lead"),
            ],
            className="heading",
        ),
        html.Div([dataset_card(dataset) for dataset in samples_last(service().datasets())], className="cards"),
        formats_section(formats()),
    ]


PAGE = register(
    Page(name="datasets", path="/datasets", title="Datasets", place=90, draw=draw, parameters=PageParameters, filters=())
)
