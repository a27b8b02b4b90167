"""Questions that no run answered correctly."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.selection import Request
from queries.selection.view_parameters_base import Parameters
from queries.unsolved_questions import Unsolved, UnsolvedQuestion, unsolved

FIELDS = UnsolvedQuestion.__struct_fields__


def _unsolved(query: Request[Parameters]) -> Unsolved:
    return service().ask(unsolved, query.selection)


@get_selected("/api/v1/unsolved", Parameters)
def get_unsolved(query: Request[Parameters]) -> Response:
    """Questions that at least two runs answered but none correctly, with how people did; and their number by category. `disputed`
    is the number of runs whose gradings differ on an answer to the question.
    """
    return json_response(_unsolved(query))


@get_selected("/api/v1/unsolved.csv", Parameters)
def get_unsolved_csv(query: Request[Parameters]) -> Response:
    """The same as CSV, a row per question."""
    rows = [[getattr(question, name) for name in FIELDS] for question in _unsolved(query).questions]
    return csv_response(FIELDS, rows, "unsolved")
