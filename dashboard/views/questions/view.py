"""The list of a selection's questions, page by page and as one table."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated
from urllib.parse import urlencode

import polars as pl
from flask import Response, request

from dashboard.registry.addresses import get_selected, pairs
from dashboard.registry.composed import question_list
from dashboard.registry.keys import Metrics, Sort
from dashboard.registry.responses import csv_parts, stream_response, without_formulas
from dashboard.registry.tables import Column, Table, column
from dashboard.registry.views import View, register
from dashboard.service import service
from queries.metrics import CATALOGUE, Metric
from queries.questions import MAX_PAGE_SIZE, question_table
from queries.selection import Request, Selection
from queries.selection.parameter_kinds import Text, Whole
from queries.selection.view_parameters_base import Parameters

ROWS = 2000  # rows sent at a time
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


register(
    View(
        "questions",
        question_list,
        QuestionsKeys,
        "Questions with each run's metrics, one page at a time. `next` in the response is the cursor of the next page.",
    )
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
)


@get_selected("/api/v1/questions.csv", QuestionsTableKeys)
def get_questions_csv(query: Request[QuestionsTableKeys]) -> Response:
    """The same as one table, with a column `metric:run` for each metric and run. It has all questions or, with `limit`, this many
    from `cursor` on, with the address of the next ones in the header `Link`.
    """
    frame, following = QUESTIONS.ask(query)
    answer = stream_response(csv_parts(frame.columns, without_formulas(frame).iter_slices(ROWS)), "csv", "questions")
    if following is not None:
        keys = [*((key, value) for key, value in pairs() if key != "cursor"), ("cursor", following)]
        answer.headers["Link"] = f'<{request.path}?{urlencode(keys)}>; rel="next"'
    return answer
