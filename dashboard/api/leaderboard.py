"""Metrics of every run of a selection."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import IntervalsParameters
from data.store.answer_states import OTHER_STATES
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
    leader under each grading. `shares` of a row are the shares of its responses that are not answers with a confidence. Where
    answers lack a confidence, `bound_low` and `bound_high` are what any confidences of theirs could give.
    """
    return json_response(_leaderboard(query))


@get_selected("/api/v1/leaderboard.csv", IntervalsParameters)
def get_leaderboard_csv(query: Request[IntervalsParameters]) -> Response:
    """The same as CSV, a row per run with the value and rank of each metric, and bounds if answers lack a confidence."""
    metrics, parts = query.parameters.metrics, WITH_INTERVALS if query.parameters.intervals else PLAIN
    board = _leaderboard(query).rows
    facts = [
        "run",
        "model",
        "elicitation",
        "questions",
        "items",
        *OTHER_STATES,
        "answered",
        "answered_clues",
        "ranked",
        "unranked",
    ]
    bounded = [metric for metric in metrics if any(row.metrics[metric.key].bound_low is not None for row in board)]
    columns = [(metric.key, part) for metric in metrics for part in parts]
    columns += [(metric.key, part) for metric in bounded for part in ("bound_low", "bound_high")]
    header = facts + [key if part == "value" else f"{key}_{part}" for key, part in columns]
    rows = [[getattr(row, fact) for fact in facts] + [getattr(row.metrics[key], part) for key, part in columns] for row in board]
    return csv_response(header, rows, "leaderboard")
