"""The list of a selection's questions, and one question clue by clue."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

import msgspec
from flask import Response, request

from dashboard.api.endpoint_decorators import get_selected, pairs
from dashboard.api.http_responses import csv_parts, csv_response, json_response, stream_response, without_formulas
from dashboard.composite_queries import question_list, question_with_buzzpoints
from dashboard.service import service
from dashboard.shared_parameters import Metrics, Sort
from queries.buzzing import BuzzParameters
from queries.metrics import CATALOGUE
from queries.question import ClueResponse, question
from queries.questions import MAX_PAGE_SIZE, question_table
from queries.selection import Request
from queries.selection.parameter_kinds import BadRequest, Text, Whole
from queries.selection.view_parameters_base import NoParameters, Parameters

ROWS = 2000  # rows sent at a time


class QuestionsParameters(Parameters, frozen=True):
    """Which page of the list is returned, in which order and with which metrics."""

    sort: Sort = "position"
    limit: Annotated[int, Whole(f"how many questions: 100; at most {MAX_PAGE_SIZE}", MAX_PAGE_SIZE)] = 100
    cursor: Annotated[str | None, Text("`next` of the previous page")] = None
    metrics: Metrics = (CATALOGUE["brier"],)


class QuestionsTableParameters(QuestionsParameters, frozen=True):
    """The same keys without a limit on the length of a page."""

    limit: Annotated[int | None, Whole("how many questions; all of them by default", 999_999)] = None  # type: ignore[assignment]


@get_selected("/api/v1/questions", QuestionsParameters)
def get_questions(query: Request[QuestionsParameters]) -> Response:
    """Questions with each run's metrics, one page at a time. `next` in the response is the cursor of the next page."""
    given = query.parameters
    return json_response(question_list(query.selection, given.metrics, given.sort, given.limit, given.cursor))


@get_selected("/api/v1/questions.csv", QuestionsTableParameters)
def get_questions_csv(query: Request[QuestionsTableParameters]) -> Response:
    """The same as one table, with a column `metric:run` for each metric and run. It has all questions or, with `limit`, this many
    from `cursor` on, with the address of the next ones in the header `Link`.
    """
    given = query.parameters
    frame, following = service().compute(question_table, query.selection, given.metrics, given.sort, given.limit, given.cursor)
    answer = stream_response(csv_parts(frame.columns, without_formulas(frame).iter_slices(ROWS)), "csv", "questions")
    if following is not None:
        keys = [*((key, value) for key, value in pairs() if key != "cursor"), ("cursor", following)]
        answer.headers["Link"] = f'<{request.path}?{urlencode(keys)}>; rel="next"'
    return answer


@get_selected("/api/v1/questions/<dataset>/<path:question_id>", BuzzParameters)
def get_question(query: Request[BuzzParameters], dataset: str, question_id: str) -> Response:
    """One question: its clues, what people did or voted, what each run answered, and where it buzzes, by default at each run's
    best threshold on the selection.
    """
    return json_response(question_with_buzzpoints(query.selection, query.facets, question_id, query.parameters.rules))


@get_selected("/api/v1/questions/<dataset>/<path:question_id>.csv", NoParameters)
def get_question_csv(query: Request[NoParameters], dataset: str, question_id: str) -> Response:
    """Each run's answers to it as CSV, clue by clue. If a question's own id ends in `.csv`, this address returns that question as
    JSON; add another `.csv` to get its table.
    """
    try:
        return json_response(service().ask(question, query.selection, f"{question_id}.csv"))
    except BadRequest as error:
        if error.code != "unknown_question":
            raise
    answer = service().ask(question, query.selection, question_id)
    header = ["run", "model", "elicitation", *(field.name for field in msgspec.structs.fields(ClueResponse))]
    rows = [[run.run, run.model, run.elicitation, *msgspec.structs.astuple(clue)] for run in answer.runs for clue in run.clues]
    return csv_response(header, rows, f"{dataset}-{question_id}")
