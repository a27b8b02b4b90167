"""Small Dash apps that draw the pages of Clueline in other ways.

Usage: python -m benchmarks.rendering_variants.apps VARIANT STORE PORT PATH QUERY

- ``components``: Dash components only; tables and text are their children, figures are changed by ``Patch``;
- ``grids``: the same, with dash-ag-grid for tables;
- ``fragments``: read-only parts as HTML, changed in place by idiomorph; figures by ``dcc.Graph``.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import dash_ag_grid
from dash import ALL, ClientsideFunction, Dash, Input, Output, Patch, State, dcc, html
from dash.development.base_component import Component
from flask import Flask, send_file

from clueline.dashboard import views
from clueline.dashboard.registry.pages import find_page, read_page
from clueline.dashboard.service import Service
from clueline.dashboard.settings import Settings
from clueline.dashboard.ui.controls import control, filter_bar
from clueline.dashboard.ui.figure import AT_ONCE, CONFIG
from clueline.dashboard.ui.html import children_of, descendants, is_read_only, markup

ASSETS = Path(__file__).with_name("assets")
CSS = Path(__file__).parents[2] / "assets" / "clueline.css"
VENDOR = CSS.parent / "vendor"
WIDTH = 1290  # pixels; the width for which the panels of figures are arranged
GAP_X, GAP_Y = 44, 54  # between panels

Figures = dict[str, dict[str, Any]]


def _colours() -> dict[str, str]:
    """Return the values of the CSS variables of the light theme."""
    light = CSS.read_text(encoding="utf-8").partition("[data-theme")[0]
    return {f"var({name})": value.strip() for name, value in re.findall(r"(--[a-z0-9-]+):\s*([^;]+);", light)}


COLOURS = _colours()


def resolved(value: Any) -> Any:
    """Return a figure in the colours of the light theme."""
    if isinstance(value, str):
        return COLOURS.get(value, value)
    if isinstance(value, (list, tuple)):
        return [resolved(part) for part in value]
    if isinstance(value, dict):
        return {key: resolved(part) for key, part in value.items()}
    return value


def arranged(spec: dict[str, Any]) -> dict[str, Any]:
    """Put the panels of a figure side by side, as ``assets/figure_colours_and_size.js`` does."""
    layout = spec["layout"]
    meta = layout.get("meta", {})
    if "panels" not in meta:
        return spec
    panels, inside = meta["panels"], WIDTH - layout["margin"]["l"] - layout["margin"]["r"]
    most = max(1, min(panels, (inside + GAP_X) // (meta["width"] + GAP_X)))
    rows = math.ceil(panels / most)
    columns = math.ceil(panels / rows)
    across = min((inside - GAP_X * (columns - 1)) / columns, 1.35 * meta["width"])
    down = rows * meta["height"] + (rows - 1) * GAP_Y
    for panel in range(panels):
        name = "" if panel == 0 else str(panel + 1)
        left, top = (panel % columns) * (across + GAP_X), (panel // columns) * (meta["height"] + GAP_Y)
        layout[f"xaxis{name}"]["domain"] = [left / inside, min((left + across) / inside, 1)]
        layout[f"yaxis{name}"]["domain"] = [max(1 - (top + meta["height"]) / down, 0), 1 - top / down]
    layout["height"] = down + layout["margin"]["t"] + layout["margin"]["b"]
    return spec


def divided(path: str, query: str) -> tuple[list[Any], Figures, dict[str, Component]]:
    """Divide a page's content into the surrounding components, the figures, and the read-only parts."""
    view, dataset, item = find_page(path)
    figures: Figures = {}
    parts: dict[str, Component] = {}

    def cut(part: Any) -> Any:
        if not isinstance(part, Component):
            return part
        if is_read_only(part):
            name = str(len(parts))
            parts[name] = part
            return html.Div(id=f"fragment-{name}", style={"display": "contents"})
        if isinstance(part, dcc.Graph):
            identity: Any = part.id  # type: ignore[attr-defined]
            name = identity["figure"]
            figures[name] = resolved(arranged(part.figure))  # type: ignore[attr-defined]
            height = {"height": f"{figures[name]['layout']['height']}px"}
            return dcc.Graph(id=f"figure-{name}", config=CONFIG, style=height, responsive=True, animation_options=AT_ONCE)
        part.children = [cut(child) for child in children_of(part)]
        return part

    content = view.draw(read_page(view, parse_qsl(query), dataset, item))
    return [cut(part) for part in content if part is not None], figures, parts


def keys_of(values: list[Any], ids: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Return the keys and values of the query string from the values of controls."""
    pairs: list[tuple[str, str]] = []
    for value, identity in zip(values, ids, strict=True):
        key = identity["key"]
        if identity["kind"] == "range":
            pairs += [(key, f"{value[0]}..{value[1]}")] if value != [0, 1] else []
        elif isinstance(value, list):
            pairs += [(key, str(part)) for part in value]
        elif value:
            pairs.append((key, str(value)))
    return pairs


def _text(part: Any) -> str:
    return " ".join(_text(child) for child in children_of(part)) if isinstance(part, Component) else str(part)


def _rows(table: Component) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the columns and rows of a grid with the texts and titles of a table."""
    head, *bodies = [part for part in children_of(table) if part is not None]
    titles = [_text(cell) for cell in children_of(children_of(head)[0])]
    columns = [{"field": f"c{place}", "headerName": title, "tooltipField": f"t{place}"} for place, title in enumerate(titles)]
    rows = []
    for row in (row for body in bodies for row in children_of(body)):
        cells = list(enumerate(children_of(row)))
        texts = {f"c{place}": _text(cell) for place, cell in cells}
        rows.append(texts | {f"t{place}": getattr(cell, "title", "") for place, cell in cells})
    return columns, rows


def gridded(part: Any, rows: dict[str, list[dict[str, str]]], name: str) -> Any:
    """Replace the tables of a part by grids. Add the rows of each grid to ``rows``, by its id."""
    if not isinstance(part, Component):
        return part
    if isinstance(part, html.Table):
        grid = f"grid-{name}-{len(rows)}"
        columns, rows[grid] = _rows(part)
        return dash_ag_grid.AgGrid(
            id=grid, columnDefs=columns, rowData=rows[grid], className="ag-theme-clueline",
            dashGridOptions={"domLayout": "autoHeight", "animateRows": False, "rowHeight": 30},
        )  # fmt: skip
    part.children = [gridded(child, rows, name) for child in children_of(part)]
    return part


def create(variant: str, store: str, path: str, query: str) -> Flask:
    """Create an app that draws one page, with the filters of its dataset."""
    server = Flask("variants", static_folder=None)
    Service(server, Settings(store=store))
    app = Dash(__name__, server=server, assets_folder=str(ASSETS), suppress_callback_exceptions=True, compress=True)  # type: ignore[arg-type]
    app.config.external_scripts = ["/idiomorph.js"]
    server.add_url_rule("/idiomorph.js", view_func=lambda: send_file(VENDOR / "idiomorph.min.js"))
    views.register_all(server)
    app.index_string = app.index_string.replace("{%css%}", f"{{%css%}}<style>{CSS.read_text(encoding='utf-8')}</style>")
    view, _, _ = find_page(path)
    with server.app_context(), server.test_request_context():
        request = read_page(view, parse_qsl(query))
        structure, figures, parts = divided(path, query)
        bar = filter_bar(request.facets, request.selection, view.filters)
    grids: dict[str, list[dict[str, str]]] = {}
    for part in descendants(structure):
        kind, _, name = str(getattr(part, "id", "")).partition("-")
        if kind == "figure" and variant != "fragments":
            part.figure = figures[name]  # type: ignore[attr-defined]
        if kind == "fragment" and variant != "fragments":
            part.children = gridded(parts[name], grids, name) if variant == "grids" else parts[name]
    stores = [dcc.Store(id="drawn"), dcc.Store(id="placed")]
    app.layout = html.Div([html.Main([bar, html.Div(structure, id="content"), *stores], id="main")], className="page")

    every = control(ALL, ALL, ALL, ALL)  # type: ignore[arg-type]
    controls = [Input(every, "value"), State(every, "id")]
    graphs = [Output(f"figure-{name}", "figure") for name in figures]
    texts = [name for name in parts if not any(grid.startswith(f"grid-{name}-") for grid in grids)]

    def drawn(values: list[Any], ids: list[dict[str, str]]) -> tuple[list[Any], Figures, dict[str, Component]]:
        return divided(path, urlencode([("dataset", request.selection.dataset), *keys_of(values, ids)]))

    def patches(changed: Figures) -> list[Patch]:
        changes = []
        for name in figures:
            patch = Patch()
            patch["data"], patch["layout"] = changed[name]["data"], changed[name]["layout"]
            changes.append(patch)
        return changes

    if variant == "fragments":

        @app.callback(Output("drawn", "data"), *controls)
        def draw(values: list[Any], ids: list[dict[str, str]]) -> dict[str, Any]:
            _, changed, read = drawn(values, ids)
            return {"fragments": {name: markup(part) for name, part in read.items()}, "figures": changed}

        place = ClientsideFunction("variants", "place")
        app.clientside_callback(place, Output("placed", "data"), Input("drawn", "data"), State("placed", "data"))
    else:
        outputs = [Output(f"fragment-{name}", "children") for name in texts] + [Output(grid, "rowData") for grid in grids]

        @app.callback([*outputs, *graphs], *controls, prevent_initial_call=True)
        def redraw(values: list[Any], ids: list[dict[str, str]]) -> list[Any]:
            _, changed, read = drawn(values, ids)
            rows: dict[str, list[dict[str, str]]] = {}
            for name in read:
                if name not in texts:
                    gridded(read[name], rows, name)
            return [*(read[name] for name in texts), *(rows[grid] for grid in grids), *patches(changed)]

    return server


if __name__ == "__main__":
    which, folder, port, page, keys = sys.argv[1:]
    create(which, folder, page, keys).run(port=int(port), threaded=True)
