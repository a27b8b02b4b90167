"""The frame that all pages share, and the only callback, which draws them: see docs/rendering.md.

The address is the only state. ``assets/address.js`` requests what the address shows (the store ``request``), ``draw`` answers
with a drawing (the store ``answer``), and ``assets/redraw.js`` puts it on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from clueline.dashboard.access import signed_links
from clueline.dashboard.http.messages import public_message
from clueline.dashboard.http.paths import SELECTION, address
from clueline.dashboard.registry.pages import (
    SHARED_KEYS,
    Page,
    PageParameters,
    PageRequest,
    find_page,
    navigation,
    page,
    read_page,
)
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import active_filters, control, filter_bar
from clueline.dashboard.ui.drawing import Drawing, as_json, divide_page
from clueline.dashboard.ui.frame import header, page_foot, simulated_people
from clueline.dashboard.ui.html import content_markup, markup
from clueline.dashboard.ui.messages import alert, content_of, ended_selection, error_panel
from clueline.dashboard.views.items import drawer
from clueline.data.store import StoreError
from clueline.queries.datasets import Dataset
from clueline.queries.drafts import DraftText
from clueline.queries.selection.parameter_kinds import BadRequest


def layout() -> html.Div:
    """Return the application before any page is drawn: the frame that all pages share."""
    frame = [
        dcc.Store(id="request"),
        dcc.Store(id="answer"),
        html.Header(id="header", className="top"),
        html.Main([html.Div(id="banner"), html.Div(id="filter-bar"), html.Div(id="content")], id="main"),
    ]
    return html.Div(frame, id="page", className="page")


def draw(request: dict[str, Any]) -> str:
    """Draw what an address shows.

    ``request`` has the ``path`` and the ``query`` of the address; ``page``, whether the whole page is wanted or only its content;
    and, on the page ``/write``, the ``draft`` that somebody is writing.

    Returns JSON as a text, so that Dash does not have to walk through it: the drawing of the content (``content``, ``outline``,
    ``fragments``, ``figures``, ``states``) and, if it is wanted, what the ``page`` has around it. If the server was too busy,
    ``again`` says after how many seconds the browser asks again. ``stands`` is the query string under which the page stands, and
    the stored selection that it names, if it is another one than was requested.
    """
    path, pairs = request["path"], parse_qsl(request["query"], keep_blank_values=True)
    page, dataset, item = find_page(path)
    page_request: PageRequest[Any] | None = None
    version = ""  # version of the drawn data, or an older one; assets/new_data_banner.js compares it with the store's
    again: int | None = None
    saved, listed = "", drawer(None)
    short: Sequence[tuple[str, str]] = pairs
    stands: dict[str, Any] | None = None
    try:
        version = service().snapshot().version
        pairs, selection_ended = service().expand_on_page(pairs)
        draft = msgspec.convert(request.get("draft") or {}, DraftText)
        page_request = read_page(page, pairs, dataset, item, draft)
        short = service().shorten(pairs, page_request.selection)
        stands = None if selection_ended else _stands(request["query"], short)
        above = divide_page([ended_selection(service().settings.unused_days)] if selection_ended else [], "above.")
        drawing = above + _body(page, page_request, path, pairs, short)
        if page.shows_something:
            view = address(path, [pair for pair in pairs if pair[0] != signed_links.KEY])
            saved = service().access.address_of_view("/api/v1/report.html", [("view", view)])
        listed = drawer(page_request)
    except BadRequest as error:
        names = _names_of_runs(dataset or dict(pairs).get("dataset"))
        drawing, again = divide_page([error_panel(error, path, pairs, names)]), error.retry_after
    except StoreError as error:
        drawing = divide_page([alert("The store cannot be read", html.P(public_message(error, service().store)))])
    measured = (page_request.selection, page_request.facets) if page_request and page.table else None
    drawing += divide_page([page_foot(path, pairs, version, measured, saved), listed], "below.")
    answer = {
        "content": drawing.structure, "outline": drawing.outline(), "fragments": drawing.fragments, "figures": drawing.figures,
        "states": drawing.states, "again": again,
        "stands": stands,
    }  # fmt: skip
    if request["page"]:
        filters, banner, chosen, facets = None, None, dataset, None
        if page_request:
            facets, chosen = page_request.facets, page_request.selection.dataset
            filters = filter_bar(facets, page_request.selection, page.filters)
            banner = simulated_people(page_request.selection, facets) if page.shows_people else None
        bar = divide_page([filters], "filters.")
        links = list(short) if page_request else []
        answer["page"] = {
            "name": page.name,
            "title": page.title,
            "dataset": facets.title if facets and page.needs_dataset else "",
            "version": version,
            "header": content_markup(
                header(
                    _datasets(),
                    chosen,
                    page.path,
                    links,
                    navigation(facets),
                    page.place,
                    SHARED_KEYS,
                    _account(),
                    service().settings.url,
                )
            ),
            "banner": markup(banner),
            "filters": bar.structure,
        }
        answer["fragments"] = drawing.fragments | bar.fragments
    return as_json(answer).decode()


def _body(
    page: Page[Any], request: PageRequest[Any], path: str, pairs: list[tuple[str, str]], short: Sequence[tuple[str, str]]
) -> Drawing:
    """Draw the content of a page. What a paper can cite depends only on data and address, so it is kept, as are definitions.

    Its links name a stored selection if ``short``, the pairs of the address that is shared, does.
    """

    def draw() -> Drawing:
        return divide_page([active_filters(path, pairs, request.facets), *content_of(page, request, path, pairs)])

    if page.table is None and not page.same_for_all:
        return draw()
    return Drawing.decode(service().drawn(request.selection.dataset, path, short, lambda: draw().encode()))


def _stands(asked: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the query string that replaces the one that was ``asked``, with the keys of its stored selection; None for none."""
    identity = dict(pairs).get(SELECTION)
    if identity is None and all(key != SELECTION for key, _ in parse_qsl(asked, keep_blank_values=True)):
        return None
    stored = service().stored_selection(identity) if identity else None
    return {"asked": asked, "query": urlencode(pairs), "selection": identity, "keys": stored}


def _names_of_runs(dataset: str | None) -> dict[str, str]:
    """Return the name of each run of a dataset, by its id; empty if there is no such dataset."""
    try:
        return {run: f"{model} · {elicitation}" for run, model, elicitation in service().facets(dataset).runs}
    except (BadRequest, StoreError):
        return {}


def _datasets() -> list[Dataset]:
    """Return the datasets in the header; none if the store cannot be read or the visitor must log in, as the content says."""
    try:
        return service().datasets()
    except (BadRequest, StoreError):
        return []


def _account() -> tuple[str, str] | None:
    """Return text and address of the link to the login page; None if logging in would change nothing."""
    access = service().access
    try:
        reader = access.reader()
        if reader.by_cookie:
            return reader.name, "/login"
        return ("Log in", "/login") if access.offers_login() and reader.right is None else None
    except (BadRequest, StoreError):
        return "Log in", "/login"


def _nothing(request: object) -> list[Component | None]:
    raise BadRequest("unknown_address", "The address may be misspelt, or the page may have moved.", status=404)


page("", "No such page", PageParameters, name="nowhere", check=_nothing)(_nothing)


def install(app: Dash) -> None:
    """Give an app the frame of all pages and the callbacks that fill it."""
    app.layout = layout
    app.callback(Output("answer", "data"), Input("request", "data"), prevent_initial_call=True)(draw)
    every_control = control(ALL, ALL, ALL, ALL, ALL)  # type: ignore[arg-type]
    app.clientside_callback(ClientsideFunction("clueline", "begin"), Output("request", "data"), Input("page", "id"))
    app.clientside_callback(
        ClientsideFunction("clueline", "write"),
        Output("request", "data", allow_duplicate=True),
        Input(every_control, "value"),
        State(every_control, "id"),
        State("request", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("clueline", "place"),
        Output("page", "className"),
        Output("page", "data-version"),
        Output("header", "data-html"),
        Output("banner", "data-html"),
        Output("filter-bar", "children"),
        Output("content", "children"),
        Input("answer", "data"),
        prevent_initial_call=True,
    )
