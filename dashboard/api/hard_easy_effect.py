"""Overconfidence against difficulty."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.hard_easy_effect import Difficulty, difficulty
from queries.selection import Request
from queries.selection.view_parameters_base import NoParameters


def _difficulty(query: Request[NoParameters]) -> Difficulty:
    return service().ask(difficulty, query.selection)


@get_selected("/api/v1/difficulty", NoParameters)
def get_difficulty(query: Request[NoParameters]) -> Response:
    """Overconfidence against difficulty: questions, line, slope and intervals."""
    return json_response(_difficulty(query))


@get_selected("/api/v1/difficulty.csv", NoParameters)
def get_difficulty_csv(query: Request[NoParameters]) -> Response:
    """The slopes as CSV, a row per run."""
    fields = ("run", "model", "elicitation", "questions", "slope", "low", "high", "missing", "no_interval")
    return csv_response(fields, [[getattr(run, name) for name in fields] for run in _difficulty(query).runs], "difficulty")
