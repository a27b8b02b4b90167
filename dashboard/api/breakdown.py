"""Metrics by radius, category or difficulty."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.api.leaderboard import PLAIN, WITH_INTERVALS
from dashboard.service import service
from dashboard.shared_parameters import IntervalsParameters
from queries.breakdown import BREAKDOWN_FIELDS, MAX_PARTS, Breakdown, breakdown, breakdown_fields
from queries.selection import Request
from queries.selection.parameter_kinds import Choice


class BreakdownParameters(IntervalsParameters, frozen=True):
    """How the selection is divided."""

    by: Annotated[
        str,
        Choice(
            f"how the questions are divided: by {', '.join(f'`{key}`' for key in BREAKDOWN_FIELDS)}, or by an attribute with at "
            f"most {MAX_PARTS} values, such as `attr.language`",
            breakdown_fields,
        ),
    ] = BREAKDOWN_FIELDS[0]


def _breakdown(query: Request[BreakdownParameters]) -> Breakdown:
    parameters = query.parameters
    return service().ask(breakdown, query.selection, parameters.by, parameters.metrics, parameters.intervals)


@get_selected("/api/v1/breakdown", BreakdownParameters)
def get_breakdown(query: Request[BreakdownParameters]) -> Response:
    """Metrics of each run within each part of a selection."""
    return json_response(_breakdown(query))


@get_selected("/api/v1/breakdown.csv", BreakdownParameters)
def get_breakdown_csv(query: Request[BreakdownParameters]) -> Response:
    """The same as CSV, a row per part, run and metric."""
    answer, parts = _breakdown(query), WITH_INTERVALS if query.parameters.intervals else PLAIN
    rows = [
        [part.value, row.run, row.model, row.elicitation, key, *(getattr(cell, name) for name in parts)]
        for part in answer.parts
        for row in part.rows
        for key, cell in row.metrics.items()
    ]
    return csv_response([answer.by, "run", "model", "elicitation", "metric", *parts], rows, "breakdown")
