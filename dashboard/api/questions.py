"""The questions of a selection, and one question clue by clue."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec
from flask import Response, request

from dashboard.api.blueprint import api
from dashboard.api.reading import metrics_of, pairs, single
from dashboard.api.responses import csv_parts, csv_response, json_response, stream_response
from dashboard.cached_queries import question_list, question_with_buzzpoints
from dashboard.service import service
from queries.buzzing import parse_rules
from queries.buzzing.rules import KEYS
from queries.metrics import CATALOGUE, Metric
from queries.question import ClueResponse, question
from queries.questions import question_table
from queries.selection import BadRequest, Selection

ROWS = 2000  # sent at once
Page = tuple[Selection, tuple[Metric, ...], str, int | None, str | None]


def _page() -> Page:
    """Selection, metrics, sort, limit and cursor of this request."""
    selection, _, extra = service().parse(pairs(), also=("sort", "limit", "cursor", "metrics"))
    limit = single(extra, "limit")
    if limit is not None and (not limit.isdecimal() or len(limit) > 6):
        raise BadRequest("bad_value", f"limit must be a whole number, not {limit!r}.", "limit")
    metrics = metrics_of(extra["metrics"]) if extra["metrics"] else (CATALOGUE["brier"],)
    return (
        selection,
        metrics,
        single(extra, "sort") or "position",
        None if limit is None else int(limit),
        single(extra, "cursor"),
    )


@api.get("/api/v1/questions")
def get_questions() -> Response:
    """A page of the questions of a selection."""
    selection, metrics, sort, limit, cursor = _page()
    return json_response(question_list(selection, metrics, sort, 100 if limit is None else limit, cursor))


@api.get("/api/v1/questions.csv")
def get_questions_csv() -> Response:
    """Every question of the selection as CSV; with ``limit``, a page of them and the address of the next in a Link header."""
    frame, following = question_table(service().snapshot(), *_page())
    answer = stream_response(csv_parts(frame.columns, frame.iter_slices(ROWS)), "csv", "questions")
    if following is not None:
        keys = [*((key, value) for key, value in pairs() if key != "cursor"), ("cursor", following)]
        answer.headers["Link"] = f'<{request.path}?{urlencode(keys)}>; rel="next"'
    return answer


@api.get("/api/v1/questions/<dataset>/<path:question_id>")
def get_question(dataset: str, question_id: str) -> Response:
    """One question, clue by clue."""
    selection, offered, extra = service().parse(pairs(), also=KEYS, dataset=dataset)
    return json_response(question_with_buzzpoints(selection, offered, question_id, parse_rules(extra, offered)))


@api.get("/api/v1/questions/<dataset>/<path:question_id>.csv")
def get_question_csv(dataset: str, question_id: str) -> Response:
    """What each run said of one question, clue by clue, as CSV; an id that ends in .csv itself goes before."""
    selection, _, _ = service().parse(pairs(), dataset=dataset)
    try:
        return json_response(service().ask(question, selection, f"{question_id}.csv"))
    except BadRequest as error:
        if error.code != "unknown_question":
            raise
    found = service().ask(question, selection, question_id)
    header = ["run", "model", "elicitation", *(field.name for field in msgspec.structs.fields(ClueResponse))]
    rows = [[run.run, run.model, run.elicitation, *msgspec.structs.astuple(answer)] for run in found.runs for answer in run.clues]
    return csv_response(header, rows, f"{dataset}-{question_id}")
