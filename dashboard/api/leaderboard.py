"""Metrics of every run of a selection."""

from __future__ import annotations

from flask import Response

from dashboard.api.answers import csv_response, json_response
from dashboard.api.blueprint import api
from dashboard.api.reading import metrics_of, pairs
from dashboard.service import service
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics import Metric
from queries.selection import BadAddress


def _leaderboard() -> tuple[Leaderboard, tuple[Metric, ...]]:
    selection, _, extra = service().parse(pairs(), also=("metrics", "intervals"))
    if extra["intervals"] not in ([], ["0"]):
        raise BadAddress("unknown_value", "This version computes no intervals.", "intervals", ["0"])
    metrics = metrics_of(extra["metrics"])
    return service().ask(leaderboard, selection, metrics), metrics


@api.get("/api/v1/leaderboard")
def get_leaderboard() -> Response:
    """Metrics of every run of a selection."""
    return json_response(_leaderboard()[0])


@api.get("/api/v1/leaderboard.csv")
def get_leaderboard_csv() -> Response:
    """The same as CSV: a row per run; per metric its value and its rank."""
    board, metrics = _leaderboard()
    header = ["run", "model", "elicitation", "questions", "items"]
    header += [name for metric in metrics for name in (metric.key, f"{metric.key}_rank")]
    rows = [
        [row.run, row.model, row.elicitation, row.questions, row.items]
        + [value for metric in metrics for value in (row.metrics[metric.key].value, row.metrics[metric.key].rank)]
        for row in board.rows
    ]
    return csv_response(header, rows, "leaderboard")
