"""Every question of the selection, sortable by any metric of any run, the difference of two runs, and by who was wrong early."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import dash_ag_grid
import flask
from dash import ClientsideFunction, Input, Output, clientside_callback, dcc, html
from dash.development.base_component import Component

from dashboard.api.responses import json_response
from dashboard.cached_queries import question_list, question_order
from dashboard.components.attributes import data
from dashboard.components.controls import menu
from dashboard.components.filters import filter_keys
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import CURVE_NAMES, count, short
from dashboard.components.run_names import chosen_runs, colours
from dashboard.figures.sparklines import WIDTH, spark_figure
from dashboard.figures.style import OTHERS
from dashboard.parameters import Sort as SortKey
from dashboard.parameters import usual_metric
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, question_path, read_page, register
from queries.metrics import Metric
from queries.parameters import BadRequest, MetricChoice
from queries.question_order import QUESTION_METRICS, Sort, read_sort
from queries.questions import QuestionRow
from queries.sparklines import sparklines

STATE = {"role": "state", "name": "grid"}
BLOCK = 100  # rows that the grid asks for at a time
MOST = 1000  # rows that it is given
SNIPPET = 160  # characters of a question
PAIRED = 4  # up to so many runs, every two are offered as an order; of more, the first with the others
OFFERED = 8  # runs that the menu of orders offers
NUMERIC = {"type": "rightAligned", "width": 66, "cellClass": "number", "headerClass": "narrow"}
WRAPPED = {"wrapHeaderText": True, "autoHeaderHeight": True}


class QuestionsPage(PageParameters, frozen=True):
    """The order, and the metric of each run."""

    sort: SortKey = "position"
    metric: Annotated[
        Metric,
        MetricChoice(
            "whose values each run has in the list",
            QUESTION_METRICS,
            "There is no metric {value!r} of a single question.",
            usual=usual_metric,
        ),
    ] = QUESTION_METRICS[0]


def draw(request: PageRequest[QuestionsPage]) -> Sequence[Component | None]:
    """The grid; its rows are asked for as they come into sight."""
    metric, sort = request.parameters.metric, _read(request, request.parameters.sort)
    total = len(question_order(request.selection, request.parameters.sort).questions)
    if not total:
        return [nothing_selected("/questions", request.selection, "questions")]
    standard = usual_metric(request.facets)
    metrics = {"" if metric.key == standard else metric.key: metric.name for metric in QUESTION_METRICS}
    columns = _columns(request, metric)
    own = _own(columns, sort)
    if own:
        columns.insert(len(columns) - len(_runs(request)), _own_column(request, sort))
    for column in columns:
        if _column_id(column) == sort.key:
            column["sort"] = "desc" if sort.descending else "asc"
    rows_address = request.link("/_rows", metric=request.written("metric") or None)
    return [
        html.Div(
            [
                html.H1("Questions"),
                html.P(f"{request.facets.title}: {count(total, 'question')}", className="lead"),
                menu("metric", "Metric per run", metrics, "" if metric.key == standard else metric.key),
                _order_menu(request, metric, sort if own else None),
            ],
            className="heading",
        ),
        html.Div(
            dash_ag_grid.AgGrid(
                id="grid",
                columnDefs=columns,
                defaultColDef={
                    "sortable": True, "resizable": True, "suppressMovable": True, "sortingOrder": ["asc", "desc", None],
                },
                rowModelType="infinite",
                dashGridOptions={
                    "cacheBlockSize": BLOCK, "rowHeight": 30, "headerHeight": 62, "infiniteInitialRowCount": 1,
                    # Requests of an earlier selection, which nobody answers any more, must not keep later ones waiting.
                    "maxConcurrentDatasourceRequests": -1,
                    "maxBlocksInCache": 20, "animateRows": False, "suppressCellFocus": False, "enableCellTextSelection": True,
                },
                className="ag-theme-clueline",
            ),
            **(data(own=sort.key) if own else {}),
        ),
        dcc.Store(id=STATE, data={"rows": total, "address": rows_address}),
        _legend(request),
    ]  # fmt: skip


def _read(request: PageRequest[QuestionsPage], sort: str) -> Sort:
    facets = request.facets
    return read_sort(sort, facets.all_runs, facets.dataset)


# -- the order ---------------------------------------------------------------------------------------------------------


def _order_menu(request: PageRequest[QuestionsPage], metric: Metric, own: Sort | None) -> Component:
    """Orders that no column of the table stands for; ``own`` is the one in force, None where a column sorts."""
    options = {"": "As in the table"}
    runs = [run for run, _, _ in _runs(request)][:OFFERED]
    pairs = combinations(runs, 2) if len(runs) <= PAIRED else ((runs[0], run) for run in runs[1:])
    offered = [f"-wrong:{run}" for run in runs] + [f"-{metric.key}:{a}-{b}" for a, b in pairs]
    chosen = f"{'-' if own.descending else ''}{own.key}" if own else ""
    for sort in offered:
        # Turned round by its heading, an order is still the one that was chosen.
        options[chosen if own and sort.removeprefix("-") == own.key else sort] = _said(request, _read(request, sort))
    if own and chosen not in options:
        options[chosen] = _said(request, own)
    return menu("sort", "Order", options, chosen, kind="order")


def _said(request: PageRequest[QuestionsPage], sort: Sort) -> str:
    names = [_names(request)[run] for run in sort.runs]
    if sort.by == "difference":
        assert sort.metric
        return f"Difference of {sort.metric.name}: {names[0]} \u2212 {names[1]}"
    if sort.by == "wrong":
        return f"Confidently wrong before people knew: {names[0]}"
    return f"{sort.metric.name}: {names[0]}" if sort.metric else sort.key.replace("_", " ").capitalize()


def _own(columns: list[dict[str, Any]], sort: Sort) -> bool:
    """Whether the order needs a column of its own; the dataset's order needs none."""
    return sort.key not in {_column_id(column) for column in columns} and (sort.key != "position" or sort.descending)


def _own_column(request: PageRequest[QuestionsPage], sort: Sort) -> dict[str, Any]:
    names = [_names(request)[run] for run in sort.runs]
    label = sort.metric.label if sort.metric else ""
    title = {"wrong": "Wrong early: ", "difference": f"{label}: ", "metric": f"{label}: "}.get(sort.by, "") + " \u2212 ".join(
        names
    )
    tip = _said(request, sort)
    if sort.by == "wrong":
        tip += (
            f": the largest (1 \u2212 h)(1 \u2212 y)c over the clues; h: {CURVE_NAMES[request.selection.conventions.early_curve]}"
        )
        tip += "" if request.facets.human_teams else ", 0 without human data"
    return {
        "field": "own", "colId": sort.key, "headerName": title or tip, "headerTooltip": tip, "sortingOrder": ["desc", "asc"],
        **NUMERIC, **WRAPPED, "width": 92, "cellClass": "number by",
    }  # fmt: skip


# -- the table ---------------------------------------------------------------------------------------------------------


def _columns(request: PageRequest[QuestionsPage], metric: Metric) -> list[dict[str, Any]]:
    """What is known of each question, then the metric of each run."""
    facets = request.facets
    shades = colours(facets, request.selection)
    columns: list[dict[str, Any]] = [
        {
            "field": "text", "colId": "question_id", "headerName": "Question", "cellRenderer": "QuestionLink",
            "flex": 1, "minWidth": 150, "cellClass": "question-cell",
        }
    ]  # fmt: skip
    if _sparks_shown(request):
        columns.append(
            {
                "field": "clues", "headerName": "Clues", "cellRenderer": "Spark", "sortable": False, "width": WIDTH + 10,
                "cellClass": "spark-cell", "headerTooltip": "Confidence clue by clue over the part of the question revealed",
            }
        )  # fmt: skip
    if facets.categories:
        columns.append({"field": "category", "headerName": "Category", "width": 92})
    if facets.subcategories:
        columns.append({"field": "subcategory", "headerName": "Subcategory", "width": 110})
    if facets.radii:
        columns.append({"field": "radius", "headerName": "Radius", **NUMERIC})
    if facets.difficulty:
        columns.append({"field": "difficulty", "headerName": "Difficulty", **NUMERIC})
    if facets.human_teams and facets.difficulty_source != "human":
        tip = "Share of human teams that answered correctly"
        columns.append({"field": "people", "headerName": "People right", "headerTooltip": tip, **NUMERIC, **WRAPPED})
    for run, _, _ in _runs(request):
        name = _names(request)[run]
        columns.append(
            {
                "field": run,
                "colId": f"{metric.key}:{run}",
                "headerName": name,
                "headerTooltip": f"{metric.name} of {name}",
                "headerStyle": {"borderTop": f"3px solid {shades.get(run, OTHERS)}"},
                **NUMERIC,
                **WRAPPED,
            }
        )
    return columns


def _column_id(column: dict[str, Any]) -> str:
    return str(column.get("colId", column["field"]))


def _runs(request: PageRequest[QuestionsPage]) -> list[tuple[str, str, str]]:
    shown = set(chosen_runs(request.facets, request.selection))
    return [run for run in request.facets.runs if run[0] in shown]


def _names(request: PageRequest[QuestionsPage]) -> dict[str, str]:
    """What each run of the dataset is called, a withdrawn one by its id."""
    facets = request.facets
    several = len(facets.elicitations) > 1
    names = {run: f"{model} · {elicitation}" if several else model for run, model, elicitation in facets.runs}
    return {run: run for run in facets.withdrawn} | names


def _sparks_shown(request: PageRequest[QuestionsPage]) -> bool:
    """Whether there is anything to draw clue by clue."""
    return request.facets.longest > 1 and bool(request.facets.human_teams or _coloured(request))


def _coloured(request: PageRequest[QuestionsPage]) -> dict[str, str]:
    """Colour of each run of the table that has one of its own."""
    shades = colours(request.facets, request.selection)
    return {run: shades[run] for run, _, _ in _runs(request) if run in shades}


def _legend(request: PageRequest[QuestionsPage]) -> Component | None:
    if not _sparks_shown(request):
        return None
    lines = "a line per run, its dot filled where the last guess is right and hollow where it is wrong"
    parts = [lines if _coloured(request) else "with at most 8 runs chosen, a line for each"]
    if request.facets.human_teams:
        parts.append(f"steps: {CURVE_NAMES[request.selection.conventions.early_curve]}")
    return html.P(f"Clues, left to right as the question is revealed: {'; '.join(parts)}.", className="note")


def rows() -> flask.Response:
    """Rows as the grid shows them: ``count`` from ``start`` on, in the order of ``sort``. ``assets/questions.js`` asks."""
    pairs = list(flask.request.args.items(multi=True))
    given = dict(pairs)
    try:
        start, count = int(given["start"]), min(int(given["count"]), MOST)
        request = read_page(VIEW, [pair for pair in pairs if pair[0] not in ("start", "count")])
        metric, sort = request.parameters.metric, request.parameters.sort
        order = _read(request, sort)
        result = question_list(request.selection, (metric,), sort, max(1, count), str(max(0, start)))
    except (BadRequest, KeyError, ValueError):
        return json_response({"rows": [], "total": 0}, 400)
    extra = {"sort": sort if sort != "position" else None, "metric": request.written("metric") or None}
    small = _sparks(request, result.questions)
    block = [
        {
            "question_id": question.question_id,
            "text": f"{question.question_id} · {(question.text or '')[:SNIPPET]}",
            "href": request.link(question_path(request.selection.dataset, question.question_id), dataset=None, **extra),
            "clues": small.get(question.question_id),
            "category": question.category,
            "subcategory": question.subcategory,
            "radius": question.radius,
            "difficulty": short(question.difficulty, 2),
            "people": short(question.people, 2),
            "own": _value(question, order, result.total - start - index),
            **{run: short(values[metric.key]) for run, values in question.runs.items()},
        }
        for index, question in enumerate(result.questions)
    ]
    return json_response({"rows": block, "total": result.total})


def _value(question: QuestionRow, sort: Sort, place: int) -> str | None:
    """What a question is sorted by, for the column of its own; ``place`` is that in the dataset's order, from behind."""
    if sort.by != "fact":
        return short(question.value)
    fact = place if sort.key == "position" else getattr(question, sort.key)
    return short(fact, 2) if isinstance(fact, float) or fact is None else str(fact)


def _sparks(request: PageRequest[QuestionsPage], questions: Sequence[QuestionRow]) -> dict[str, dict[str, Any] | None]:
    """The small figure of each question."""
    if not _sparks_shown(request) or not questions:
        return {}
    coloured, names = _coloured(request), _names(request)
    # Beyond eight runs none is drawn, so that none need be read.
    runs = tuple(coloured) or tuple(run for run, _, _ in request.facets.runs[:1])
    among = request.selection.replace(run=runs, model=(), elicitation=())
    result = service().ask(sparklines, among, tuple(question.question_id for question in questions))
    return {name: spark_figure(spark, names, coloured) for name, spark in result.questions.items()}


# The rows are of another selection: the grid stays, asks for them anew, and is as high as they need.
clientside_callback(ClientsideFunction("clueline", "fillGrid"), Output("grid", "style"), Input(STATE, "data"))
ROUTES = {"/_rows": rows}
VIEW = register(
    View(
        name="questions", path="/questions", title="Questions", place=50, draw=draw, parameters=QuestionsPage,
        filters=("q", *(key for key in filter_keys("runs", "questions", every=True) if key != "q"), "human", "failed"),
    )
)  # fmt: skip
