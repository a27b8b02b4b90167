"""Every question of the selection, sortable by a metric of any run, the difference of two runs, or how early a run was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated, Any
from urllib.parse import urlencode

import flask
import polars as pl
from dash import ClientsideFunction, Input, Output, clientside_callback, dcc, html
from dash.development.base_component import Component
from flask import Response, request

from clueline.dashboard.access.signed_links import ROWS
from clueline.dashboard.http.bodies import csv_parts, json_response, stream_response, without_formulas
from clueline.dashboard.registry.addresses import get, pairs
from clueline.dashboard.registry.composed import question_list, question_order, selected_runs
from clueline.dashboard.registry.keys import Metrics, Sort, default_metric, metric_names
from clueline.dashboard.registry.pages import PAGES, PageParameters, PageRequest, page, read_page
from clueline.dashboard.registry.tables import Column, Table, column
from clueline.dashboard.registry.views import Cited, View, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.html import heading, note, rest_as_file
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import highlighted_runs
from clueline.dashboard.ui.text import STATED
from clueline.dashboard.views.questions.grid import DAGGER, QuestionGrid
from clueline.data.plurals import counted
from clueline.data.store import StoreError
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.questions import (
    MAX_PAGE_SIZE,
    QUESTION_METRICS,
    QuestionRow,
    QuestionSparklines,
    question_table,
    read_sort,
    sparklines,
)
from clueline.queries.selection import Request, Selection
from clueline.queries.selection.facets import STATED_ENDS
from clueline.queries.selection.parameter_kinds import BadRequest, MetricChoice, Text, Whole
from clueline.queries.selection.view_parameters_base import Parameters

ROWS_AT_ONCE = 2000  # rows sent at a time
Rows = tuple[pl.DataFrame, str | None]  # a part of the table, and the cursor of the next one


class QuestionsKeys(Parameters, frozen=True):
    """Which page of the list is returned, in which order and with which metrics."""

    sort: Sort = "position"
    limit: Annotated[int, Whole(f"how many questions: 100; at most {MAX_PAGE_SIZE}", MAX_PAGE_SIZE)] = 100
    cursor: Annotated[str | None, Text("`next` of the previous page")] = None
    metrics: Metrics = (CATALOGUE["brier"],)


class QuestionsTableKeys(QuestionsKeys, frozen=True):
    """The same keys without a limit on the length of a page."""

    limit: Annotated[int | None, Whole("how many questions; all of them by default", 999_999)] = None  # type: ignore[assignment]


serve(
    "questions",
    question_list,
    QuestionsKeys,
    "Questions with each run's metrics, one page at a time. `next` in the response is the cursor of the next page.",
    unused=("cluster", "primary"),
)


def _table(selection: Selection, metrics: Sequence[Metric], sort: str, limit: int | None, cursor: str | None) -> Rows:
    return service().compute(question_table, selection, metrics, sort, limit, cursor)


def _columns(answer: Rows, keys: QuestionsTableKeys) -> list[Column]:
    """Return the columns; the heading of the values of a run is the run."""
    return [column(name, itemgetter(name), name.partition(":")[2]) for name in answer[0].columns]


QUESTIONS = View(
    "questions",
    _table,
    QuestionsTableKeys,
    "",  # its address streams the rows, and is documented below
    (Table("", lambda answer: answer[0].iter_rows(named=True), _columns),),
    unused=("cluster", "primary"),
)


@get("/api/v1/questions.csv", QuestionsTableKeys, selection=True)
def get_questions_csv(query: Request[QuestionsTableKeys]) -> Response:
    """The same as one table, with a column `metric:run` for each metric and run. It has all questions or, with `limit`, this many
    from `cursor` on, with the address of the next ones in the header `Link`.
    """
    frame, following = QUESTIONS.ask(query)
    answer = stream_response(csv_parts(frame.columns, without_formulas(frame).iter_slices(ROWS_AT_ONCE)), "csv", "questions")
    if following is not None:
        keys = [*((key, value) for key, value in pairs() if key != "cursor"), ("cursor", following)]
        answer.headers["Link"] = f'<{request.path}?{urlencode(keys)}>; rel="next"'
    return answer


STATE = {"role": "state", "name": "grid"}
MAX_ROWS = 1000  # rows that one request can return


class QuestionsPage(PageParameters, frozen=True):
    """Order of the list, and metric shown for each run."""

    sort: Sort = "position"
    metric: Annotated[
        Metric,
        MetricChoice(
            "the metric that is listed for each run",
            QUESTION_METRICS,
            "There is no metric {value!r} of a single question.",
            dataset_default=default_metric,
        ),
    ] = QUESTION_METRICS[0]


def _cited(request: PageRequest[QuestionsPage]) -> Cited[Any]:
    metric = request.parameters.metric
    keys = QuestionsTableKeys(sort=request.parameters.sort or "position", metrics=(metric,))
    values = tuple(f"{metric.key}:{run}" for run in selected_runs(request.selection))
    columns = ("question_id", "category", "difficulty", "heard", "people", *values)
    return Cited(QUESTIONS, keys, columns, (metric,))


@page(
    "/questions", "Questions", QuestionsPage, place="Questions", order=1, table=_cited,
    views=(QUESTIONS,),
    filters=(
        "q", *(key for key in filter_keys("runs", "questions", every=True) if key != "q"),
        "people", "human", "failed", "grading", "undisputed",
    ),
)  # fmt: skip
def draw(request: PageRequest[QuestionsPage]) -> Sequence[Component | None]:
    """Draw the grid; it requests its rows as they scroll into view."""
    total = len(question_order(request.selection, request.parameters.sort).questions)
    if not total:
        return [nothing_selected(request.path, request.selection, "questions", request.facets, "Questions")]
    grid, metric, standard = _grid(request), request.parameters.metric.key, default_metric(request.facets)
    metrics = metric_names(QUESTION_METRICS, request.facets)
    revision = service().revision(request.selection.dataset)  # so that rows fit the columns even after an import
    own = request.parameters.sort if grid.extra_column else ""
    keys = {"metric": request.written("metric"), "revision": revision, "own": own}
    rows_address = service().access.address_of_view(
        ROWS, [*request.shared_pairs(), *((key, text) for key, text in keys.items() if text)]
    )
    csv = html.A("CSV", href=_csv(request), className="quiet", title="This list with the metric of every run")
    who = " and ".join(["each run"] * bool(grid.runs) + ["people"] * bool(request.facets.human_teams))
    return [
        heading(
            "Questions",
            f"{request.facets.title}: {counted(total, 'question')}{f', with what {who} did on them' if who else ''}",
            menu("metric", "Metric per run", metrics, metric, default=standard) if grid.runs else None,
            grid.order_menu() if grid.runs else None,
        ),
        html.Div([note(_legend(request, grid)), csv], className="below"),
        grid.pins(),
        *(
            [grid.table(_rows(request, grid, 0, MAX_ROWS)[0]), rest_as_file(total - MAX_ROWS, _csv(request))]
            if request.in_file
            else [grid.component(), dcc.Store(id=STATE, data={"rows": total, "address": rows_address}), grid.legend()]
        ),
    ]


def _legend(request: PageRequest[QuestionsPage], grid: QuestionGrid) -> str:
    second = f" In brackets: {STATED}." if request.facets.unstated_ends and request.selection.people != STATED_ENDS else ""
    if not grid.runs:
        return f"Sort by a heading.{second}"
    return (
        "Darker: better among the runs on this question."
        + (f" {DAGGER}: the gradings of the run differ on an answer." if len(request.facets.gradings) > 1 else "")
        + second
    )


def _csv(request: PageRequest[QuestionsPage]) -> str:
    keys = [("metrics", request.parameters.metric.key), ("sort", request.parameters.sort)]
    return service().access.address_of_view("/api/v1/questions.csv", [*request.selection.pairs(), *keys])


def rows() -> flask.Response:
    """Return rows of the grid as JSON: ``count`` rows from ``start`` on, in the order of ``sort``.

    They are from the ``revision`` of the dataset that the page was drawn from, if it is still stored. ``own`` is the order that
    has a column of its own on the page. ``assets/questions.js`` requests the rows.
    """
    pairs = list(flask.request.args.items(multi=True))
    texts = dict(pairs)
    try:
        start, count = int(texts["start"]), min(int(texts["count"]), MAX_ROWS)
        if "revision" in texts:
            service().read_revision(texts["revision"])
        request = read_page(PAGES["questions"], [pair for pair in pairs if pair[0] not in ("start", "count", "revision", "own")])
        grid, sort = _grid(request), request.parameters.sort
        if service().access.reader().link and grid.extra_column and sort.lstrip("-") != texts.get("own", "").lstrip("-"):
            raise BadRequest("not_signed", "The link does not open this order, which shows another column.", "sort", status=401)
        listed, total = _rows(request, grid, max(0, start), max(1, count))
    except (BadRequest, KeyError, ValueError, StoreError) as error:
        status = error.status if isinstance(error, BadRequest) else 503 if isinstance(error, StoreError) else 400
        return json_response({"rows": [], "total": 0}, status)
    return json_response({"rows": listed, "total": total})


def _rows(request: PageRequest[QuestionsPage], grid: QuestionGrid, start: int, count: int) -> tuple[list[dict[str, object]], int]:
    """Return rows of the grid, and how many there are in all."""
    sort = request.parameters.sort
    page = question_list(request.selection, (request.parameters.metric,), sort, count, str(start))
    keys = {"sort": sort if sort != "position" else None, "metric": request.written("metric") or None}
    links = {question.question_id: request.question_link(question.question_id, **keys) for question in page.questions}
    return grid.rows(page, start, links, _sparklines(request, grid, page.questions)), page.total


def _grid(request: PageRequest[QuestionsPage]) -> QuestionGrid:
    facets, parameters = request.facets, request.parameters
    sort = read_sort(parameters.sort, facets.all_runs, facets.dataset)
    curve = request.selection.conventions.human_curve_or_default
    highlighted = highlighted_runs(request, parameters.metric)
    return QuestionGrid(facets, selected_runs(request.selection), curve, parameters.metric, sort, highlighted)


def _sparklines(
    request: PageRequest[QuestionsPage], grid: QuestionGrid, questions: Sequence[QuestionRow]
) -> dict[str, QuestionSparklines]:
    if not grid.has_sparklines or not questions:
        return {}
    runs = tuple(grid.run_colours) or tuple(run for run, _, _ in request.facets.runs[:1])
    selection = request.selection.on_runs(runs)
    return service().ask(sparklines, selection, tuple(question.question_id for question in questions))


# When the rows are those of another selection, the grid stays, requests them again, and adapts its height.
clientside_callback(ClientsideFunction("clueline", "fillGrid"), Output("grid", "style"), Input(STATE, "data"))
ROUTES = {ROWS: rows}
