"""A figure on a page. Its colours are CSS variables, so it follows the theme without a new request to the server."""

from __future__ import annotations

from typing import Any

from dash import ALL, MATCH, ClientsideFunction, Input, State, clientside_callback, dcc, html
from dash.development.base_component import Component

from dashboard.components.html_attributes import data
from dashboard.figures.style import PlotlyJson

CONFIG: Any = {
    "displaylogo": False,
    "displayModeBar": False,
    "showSendToCloud": False,  # Plotly's own button would upload the chart to Plotly
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "resetScale2d"],
    "toImageButtonOptions": {"format": "svg"},
}
DOWNLOADS = {  # see assets/figure_files.js
    "svg": "This figure as SVG, with title and source",
    "pdf": "Print this figure on a page of its size: choose “Save as PDF”",
    "png": "This figure as PNG",
}
AT_ONCE: Any = {"mode": "immediate", "transition": {"duration": 0}, "frame": {"duration": 0, "redraw": False}}


def figure(
    name: str, spec: PlotlyJson, title: str, text: Component | None = None, legend: Component | None = None, hint: str = ""
) -> html.Figure:
    """Return a figure and its text equivalent.

    Args:
        name: name, unique on the page.
        spec: Plotly figure whose colours can be ``var(--name)``; ``assets/figure_colours_and_size.js`` sets its colours and its
            width.
        title: what it shows, in a few words.
        text: the same data as a table, shown on demand.
        legend: which colour is what. It is placed above the figure, where it has room on any screen. Plotly's own legend, which
            takes room from the figure, is drawn only into downloaded files.
        hint: what the user can do with it on the screen, shown after the title. Downloaded files leave it out.
    """
    spec["layout"].setdefault("meta", {}).update(figure=name, legend=legend is not None)
    graph = dcc.Graph(
        id={"role": "figure", "figure": name},
        figure=spec,
        config=CONFIG,
        responsive=False,
        animation_options=AT_ONCE,
        clear_on_unhover=True,
    )
    frame = html.Div(graph, className="frame", **data(figure=name))
    return html.Figure(
        [
            html.Figcaption([title, html.Span(f". {hint}", className="hint")] if hint else title),
            legend,
            frame,
            html.Div(
                [
                    html.Details([html.Summary("As a table"), text], className="text-equivalent") if text is not None else None,
                    html.Span([_download(kind) for kind in DOWNLOADS], className="downloads"),
                ],
                className="figure-foot",
            ),
        ],
        className=f"figure figure-{name}",
    )


def _download(kind: str) -> html.Button:
    return html.Button(kind.upper(), type="button", title=DOWNLOADS[kind], **data(download=kind))


clientside_callback(ClientsideFunction("clueline", "openDot"), Input({"role": "figure", "figure": ALL}, "clickData"))
clientside_callback(
    ClientsideFunction("clueline", "hoverRun"), Input({"role": "figure", "figure": ALL}, "hoverData"), prevent_initial_call=True
)
clientside_callback(
    ClientsideFunction("clueline", "clearRange"),
    Input({"role": "figure", "figure": MATCH}, "clickData"),
    State({"role": "figure", "figure": MATCH}, "id"),
    prevent_initial_call=True,
)
clientside_callback(
    ClientsideFunction("clueline", "hoverClue"),
    Input({"role": "figure", "figure": "clues"}, "hoverData"),
    prevent_initial_call=True,
)
