"""What recalibration would change."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import choice, metrics_of, pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.metrics.kernels.recalibration import METHODS
from queries.recalibration import Recalibration, recalibration


def _recalibration() -> Recalibration:
    selection, _, extra = service().parse(pairs(), also=("method", "metrics"))
    return service().ask(recalibration, selection, choice(extra, "method", tuple(METHODS)), metrics_of(extra["metrics"]))


@api.get("/api/v1/recalibration")
def get_recalibration() -> Response:
    """Every metric of every run before and after recalibration, and what it does to single items."""
    return json_response(_recalibration())


@api.get("/api/v1/recalibration.csv")
def get_recalibration_csv() -> Response:
    """The metrics before and after as CSV, a row per run and metric."""
    found = _recalibration()
    rows = [
        [run.run, run.model, run.elicitation, found.method, key, change.before, change.after, change.missing]
        for run in found.runs
        for key, change in run.metrics.items()
    ]
    return csv_response(["run", "model", "elicitation", "method", "metric", "before", "after", "missing"], rows, "recalibration")
