"""CalScore of one question, worked out clue by clue."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.calscore_steps import ClueStep, ClueSteps, clue_steps
from queries.selection import Request
from queries.selection.parameter_kinds import BadRequest
from queries.selection.view_parameters_base import NoParameters


def _steps(query: Request[NoParameters], question_id: str) -> ClueSteps:
    return service().ask(clue_steps, query.selection, question_id)


@get_selected("/api/v1/clue-steps/<dataset>/<path:question_id>", NoParameters)
def get_clue_steps(query: Request[NoParameters], dataset: str, question_id: str) -> Response:
    """CalScore and CalScore squared of each run on one question, term by term, as GRACE's tables 6 and 7 work them out."""
    return json_response(_steps(query, question_id))


@get_selected("/api/v1/clue-steps/<dataset>/<path:question_id>.csv", NoParameters)
def get_clue_steps_csv(query: Request[NoParameters], dataset: str, question_id: str) -> Response:
    """The same as CSV, a row per run and clue. If a question's own id ends in `.csv`, this returns that question as JSON."""
    try:
        return json_response(_steps(query, f"{question_id}.csv"))
    except BadRequest as error:
        if error.code != "unknown_question":
            raise
    fields = ClueStep.__struct_fields__
    rows = [
        [run.run, run.model, run.elicitation, *(getattr(step, name) for name in fields)]
        for run in _steps(query, question_id).runs
        for step in run.steps
    ]
    return csv_response(["run", "model", "elicitation", *fields], rows, f"{dataset}-{question_id}-clue-steps")
