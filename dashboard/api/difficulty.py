"""Overconfidence against difficulty."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.difficulty import Difficulty, difficulty


def _difficulty() -> Difficulty:
    selection, _, _ = service().parse(pairs())
    return service().ask(difficulty, selection)


@api.get("/api/v1/difficulty")
def get_difficulty() -> Response:
    """Per run: the slope of overconfidence on difficulty, the line with its interval, and the questions."""
    return json_response(_difficulty())


@api.get("/api/v1/difficulty.csv")
def get_difficulty_csv() -> Response:
    """The slopes as CSV, a row per run."""
    fields = ("run", "model", "elicitation", "questions", "slope", "low", "high", "missing")
    return csv_response(fields, [[getattr(run, name) for name in fields] for run in _difficulty().runs], "difficulty")
