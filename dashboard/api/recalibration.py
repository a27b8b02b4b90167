"""How recalibration would change metrics and single items."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import MetricsParameters
from queries.metrics.kernels.recalibration import METHODS
from queries.recalibration import Recalibration, recalibration
from queries.selection import Request
from queries.selection.parameter_kinds import Choice


class RecalibrationParameters(MetricsParameters, frozen=True):
    """How confidences are recalibrated."""

    method: Annotated[str, Choice(f"method: {', '.join(f'`{key}`' for key in METHODS)}", (*METHODS,))] = next(iter(METHODS))


def _recalibration(query: Request[RecalibrationParameters]) -> Recalibration:
    return service().ask(recalibration, query.selection, query.parameters.method, query.parameters.metrics)


@get_selected("/api/v1/recalibration", RecalibrationParameters)
def get_recalibration(query: Request[RecalibrationParameters]) -> Response:
    """Every metric before and after recalibration, cross-fitted by question or cluster, and its effect on single items.
    `fitted_to` says whether a run's map was fitted to its confidence or to its whole distributions.
    """
    return json_response(_recalibration(query))


@get_selected("/api/v1/recalibration.csv", RecalibrationParameters)
def get_recalibration_csv(query: Request[RecalibrationParameters]) -> Response:
    """The metrics before and after as CSV, a row per run and metric."""
    answer = _recalibration(query)
    rows = [
        [run.run, run.model, run.elicitation, answer.method, key, change.before, change.after, change.missing]
        for run in answer.runs
        for key, change in run.metrics.items()
    ]
    return csv_response(["run", "model", "elicitation", "method", "metric", "before", "after", "missing"], rows, "recalibration")
