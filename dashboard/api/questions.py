"""The questions of a selection, and one question clue by clue."""

from __future__ import annotations

from flask import Response

from dashboard.api.answers import json_response
from dashboard.api.blueprint import api
from dashboard.api.reading import metrics_of, pairs, single
from dashboard.service import service
from queries.metrics import CATALOGUE
from queries.question import question
from queries.questions import questions
from queries.selection import BadAddress


@api.get("/api/v1/questions")
def get_questions() -> Response:
    """A page of the questions of a selection."""
    selection, _, extra = service().parse(pairs(), also=("sort", "limit", "cursor", "metrics"))
    limit = single(extra, "limit") or "100"
    if not limit.isdecimal() or len(limit) > 6:
        raise BadAddress("bad_value", f"limit must be a whole number, not {limit!r}.", "limit")
    metrics = metrics_of(extra["metrics"]) if extra["metrics"] else (CATALOGUE["brier"],)
    sort, cursor = single(extra, "sort") or "position", single(extra, "cursor")
    return json_response(service().ask(questions, selection, metrics, sort, int(limit), cursor))


@api.get("/api/v1/questions/<dataset>/<path:question_id>")
def get_question(dataset: str, question_id: str) -> Response:
    """One question, clue by clue."""
    selection, _, _ = service().parse(pairs(), dataset=dataset)
    return json_response(service().ask(question, selection, question_id))
