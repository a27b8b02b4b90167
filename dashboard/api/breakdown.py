"""Metrics by radius, category or difficulty."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.leaderboard import PLAIN, WITH_INTERVALS
from dashboard.api.reading import choice, metrics_of, pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.breakdown import BREAKDOWN_FIELDS, Breakdown, breakdown


def _breakdown() -> tuple[Breakdown, bool]:
    selection, _, extra = service().parse(pairs(), also=("by", "metrics", "intervals"))
    intervals = choice(extra, "intervals", ("0", "1")) == "1"
    return service().ask(
        breakdown, selection, choice(extra, "by", BREAKDOWN_FIELDS), metrics_of(extra["metrics"]), intervals
    ), intervals


@api.get("/api/v1/breakdown")
def get_breakdown() -> Response:
    """Metrics of every run within each part of a selection."""
    return json_response(_breakdown()[0])


@api.get("/api/v1/breakdown.csv")
def get_breakdown_csv() -> Response:
    """The same as CSV, a row per part, run and metric."""
    found, intervals = _breakdown()
    parts = WITH_INTERVALS if intervals else PLAIN
    rows = [
        [part.value, row.run, row.model, row.elicitation, key, *(getattr(cell, name) for name in parts)]
        for part in found.parts
        for row in part.rows
        for key, cell in row.metrics.items()
    ]
    return csv_response([found.by, "run", "model", "elicitation", "metric", *parts], rows, "breakdown")
