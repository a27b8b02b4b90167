"""Metrics of every run of a selection."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import IntervalsParameters
from queries.leaderboard import Leaderboard, leaderboard
from queries.selection import Request

PLAIN = ("value", "rank")
WITH_INTERVALS = ("value", "low", "high", "rank", "rank_low", "rank_high")


def _leaderboard(query: Request[IntervalsParameters]) -> Leaderboard:
    return service().ask(leaderboard, query.selection, query.parameters.metrics, query.parameters.intervals)


@get_selected("/api/v1/leaderboard", IntervalsParameters)
def get_leaderboard(query: Request[IntervalsParameters]) -> Response:
    """Metrics and ranks of each run. With intervals, also intervals of the ranks, and letters: runs that share a letter are not
    shown to differ. `gradings` has the share of answers on which the gradings of their run differ and, if it is over 5 %, the
    leader under each grading.
    """
    return json_response(_leaderboard(query))


@get_selected("/api/v1/leaderboard.csv", IntervalsParameters)
def get_leaderboard_csv(query: Request[IntervalsParameters]) -> Response:
    """The same as CSV, a row per run with the value and rank of each metric."""
    metrics, parts = query.parameters.metrics, WITH_INTERVALS if query.parameters.intervals else PLAIN
    header = ["run", "model", "elicitation", "questions", "items", "failed", "answered", "answered_clues", "ranked", "unranked"]
    header += [metric.key if part == "value" else f"{metric.key}_{part}" for metric in metrics for part in parts]
    rows = [
        [row.run, row.model, row.elicitation, row.questions, row.items, row.failed, row.answered, row.answered_clues]
        + [row.ranked, row.unranked]
        + [getattr(row.metrics[metric.key], part) for metric in metrics for part in parts]
        for row in _leaderboard(query).rows
    ]
    return csv_response(header, rows, "leaderboard")
