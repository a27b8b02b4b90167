"""How far the rankings of runs by different metrics agree."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import MetricsParameters
from queries.rank_agreement import Agreement, RankCorrelation, agreement
from queries.selection import Request


def _agreement(query: Request[MetricsParameters]) -> Agreement:
    return service().ask(agreement, query.selection, query.parameters.metrics)


@get_selected("/api/v1/agreement", MetricsParameters)
def get_agreement(query: Request[MetricsParameters]) -> Response:
    """Kendall's tau-b between the rankings by each pair of metrics."""
    return json_response(_agreement(query))


@get_selected("/api/v1/agreement.csv", MetricsParameters)
def get_agreement_csv(query: Request[MetricsParameters]) -> Response:
    """The same as CSV, a row per pair of metrics."""
    fields = RankCorrelation.__struct_fields__
    return csv_response(fields, [[getattr(pair, name) for name in fields] for pair in _agreement(query).pairs], "agreement")
