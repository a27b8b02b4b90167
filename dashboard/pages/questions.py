"""Every question of the selection, sortable by any metric of any run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import dash
import dash_ag_grid
from dash import ClientsideFunction, Input, Output, State, callback, clientside_callback, html, no_update
from dash.development.base_component import Component

from dashboard.components.filters import menu
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import count, short
from dashboard.components.runs import chosen_runs, colours
from dashboard.figures.style import OTHERS
from dashboard.service import service
from dashboard.view import Looking, View, look, page, question_path, register
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.questions import Questions, questions
from queries.selection import BadAddress

BLOCK = 100  # rows that the grid asks for at a time
SNIPPET = 160  # characters of a question
PER_QUESTION = tuple(metric for metric in METRICS if metric.single)


def draw(looking: Looking) -> Sequence[Component | None]:
    """The grid; its rows are asked for as they come into sight."""
    metric = _metric(looking)
    sort = looking.single("sort") or "position"
    first = _first(looking)
    if not first.total:
        return [nothing_selected("/questions", looking.selection, "questions")]
    standard = _standard(looking)
    options = {"" if each.key == standard else each.key: each.name for each in PER_QUESTION}
    return [
        html.Div(
            [
                html.H1("Questions"),
                html.P(f"{looking.facets.title}: {count(first.total, 'question')}", className="lead"),
                menu("metric", "Metric per run", options, "" if metric.key == standard else metric.key),
            ],
            className="heading",
        ),
        dash_ag_grid.AgGrid(
            id="grid",
            columnDefs=_columns(looking, metric, sort),
            defaultColDef={"sortable": True, "resizable": True, "suppressMovable": True, "sortingOrder": ["asc", "desc", None]},
            rowModelType="infinite",
            dashGridOptions={
                "cacheBlockSize": BLOCK, "rowHeight": 30, "headerHeight": 62, "infiniteInitialRowCount": min(first.total, BLOCK),
                "maxBlocksInCache": 20, "animateRows": False, "suppressCellFocus": False, "enableCellTextSelection": True,
            },
            className="ag-theme-clueline",
            style={"height": f"{min(first.total, 20) * 30 + 80}px", "maxHeight": "75vh"},
        ),
    ]  # fmt: skip


def _standard(looking: Looking) -> str:
    return "calscore" if looking.facets.human_teams else "brier"


def _first(looking: Looking) -> Questions:
    """The first question of the list, and how many there are."""
    return service().ask(questions, looking.selection, (), looking.single("sort") or "position", 1, None)


def check(looking: Looking) -> None:
    """Its own keys name what there is."""
    _metric(looking)
    _first(looking)


def _metric(looking: Looking) -> Metric:
    key = looking.single("metric", _standard(looking))
    if key not in {metric.key for metric in PER_QUESTION}:
        raise BadAddress(
            "unknown_value",
            f"There is no metric {key!r} of a single question.",
            "metric",
            [metric.key for metric in PER_QUESTION],
        )
    return CATALOGUE[key]


def _columns(looking: Looking, metric: Metric, sort: str) -> list[dict[str, Any]]:
    facets = looking.facets
    found: list[dict[str, Any]] = [
        {
            "field": "text",
            "colId": "question_id",
            "headerName": "Question",
            "cellRenderer": "QuestionLink",
            "flex": 1,
            "minWidth": 300,
            "cellClass": "question-cell",
        },
    ]
    if facets.categories:
        found.append({"field": "category", "headerName": "Category", "width": 112})
    if facets.subcategories:
        found.append({"field": "subcategory", "headerName": "Subcategory", "width": 150})
    if facets.radii:
        found.append({"field": "radius", "headerName": "Radius", "width": 82, "type": "rightAligned"})
    numeric = {"type": "rightAligned", "width": 90, "cellClass": "number"}
    if facets.difficulty:
        found.append({"field": "difficulty", "headerName": "Difficulty", **numeric, "width": 88})
    if facets.human_teams and facets.difficulty_source != "human":
        found.append(
            {
                "field": "people",
                "headerName": "People right",
                "wrapHeaderText": True,
                "autoHeaderHeight": True,
                "headerTooltip": "Share of human teams that answered correctly",
                **numeric,
            }
        )
    shades = colours(facets, looking.selection)
    for run, model, elicitation in _runs(looking):
        name = f"{model} · {elicitation}" if len(facets.elicitations) > 1 else model
        found.append(
            {
                "field": run,
                "colId": f"{metric.key}:{run}",
                "headerName": name,
                "headerTooltip": f"{metric.name} of {name}",
                "wrapHeaderText": True,
                "autoHeaderHeight": True,
                "headerStyle": {"borderTop": f"3px solid {shades.get(run, OTHERS)}"},
                **numeric,
            }
        )
    for column in found:
        if column.get("colId", column["field"]) == sort.removeprefix("-"):
            column["sort"] = "desc" if sort.startswith("-") else "asc"
    return found


def _runs(looking: Looking) -> list[tuple[str, str, str]]:
    shown = set(chosen_runs(looking.facets, looking.selection))
    return [run for run in looking.facets.runs if run[0] in shown]


@callback(Output("grid", "getRowsResponse"), Input("grid", "getRowsRequest"), State("address", "data"), prevent_initial_call=True)
def rows(request: dict[str, Any] | None, query: str | None) -> Any:
    """A block of rows, sorted as the grid's headings are."""
    if not request:
        return no_update
    try:
        looking = look(VIEW, parse_qsl(query or "", keep_blank_values=True))
        metric = _metric(looking)
        sort = _sort(request) or "position"
        start = int(request["startRow"])
        found = service().ask(questions, looking.selection, (metric,), sort, max(1, int(request["endRow"]) - start), str(start))
    except BadAddress:
        return {"rowData": [], "rowCount": 0}
    extra = {"sort": sort if sort != "position" else None}
    data = [
        {
            "question_id": listed.question_id,
            "text": f"{listed.question_id} · {(listed.text or '')[:SNIPPET]}",
            "href": looking.link(question_path(looking.selection.dataset, listed.question_id), dataset=None, **extra),
            "category": listed.category,
            "subcategory": listed.subcategory,
            "radius": listed.radius,
            "difficulty": short(listed.difficulty, 2),
            "people": short(listed.people, 2),
            **{run: short(values[metric.key]) for run, values in listed.runs.items()},
        }
        for listed in found.questions
    ]
    return {"rowData": data, "rowCount": found.total}


def _sort(request: dict[str, Any]) -> str:
    model = request.get("sortModel") or []
    return f"{'-' if model[0]['sort'] == 'desc' else ''}{model[0]['colId']}" if model else ""


# The order of the grid is part of the address, but the grid has drawn it already.
clientside_callback(ClientsideFunction("clueline", "sorted"), Input("grid", "getRowsRequest"), prevent_initial_call=True)

VIEW = register(
    View(
        name="questions", path="/questions", title="Questions", place=50, draw=draw, check=check, keys=("sort", "metric"),
        filters=("q", "run", "model", "elicitation", "category", "subcategory", "radius", "difficulty", "human"),
    )
)  # fmt: skip


def layout(**query: Any) -> html.Div:
    """The page."""
    return page(VIEW, query)


dash.register_page(__name__, path=VIEW.path, title=f"{VIEW.title} · Clueline", layout=layout)
