"""Metrics of every run of a selection."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import choice, metrics_of, pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics import Metric

PLAIN = ("value", "rank")
WITH_INTERVALS = ("value", "low", "high", "rank", "rank_low", "rank_high")


def _leaderboard() -> tuple[Leaderboard, tuple[Metric, ...], bool]:
    selection, _, extra = service().parse(pairs(), also=("metrics", "intervals"))
    intervals = choice(extra, "intervals", ("0", "1")) == "1"
    metrics = metrics_of(extra["metrics"])
    return service().ask(leaderboard, selection, metrics, intervals), metrics, intervals


@api.get("/api/v1/leaderboard")
def get_leaderboard() -> Response:
    """Metrics of every run of a selection."""
    return json_response(_leaderboard()[0])


@api.get("/api/v1/leaderboard.csv")
def get_leaderboard_csv() -> Response:
    """The same as CSV: a row per run; per metric its value and its rank, with their intervals if asked for."""
    board, metrics, intervals = _leaderboard()
    parts = WITH_INTERVALS if intervals else PLAIN
    header = ["run", "model", "elicitation", "questions", "items"]
    header += [metric.key if part == "value" else f"{metric.key}_{part}" for metric in metrics for part in parts]
    rows = [
        [row.run, row.model, row.elicitation, row.questions, row.items]
        + [getattr(row.metrics[metric.key], part) for metric in metrics for part in parts]
        for row in board.rows
    ]
    return csv_response(header, rows, "leaderboard")
