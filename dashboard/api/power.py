"""Power analysis: how large a difference between two runs the questions can show."""

from __future__ import annotations

from flask import Response

from dashboard.api.compare import CompareParameters
from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import WantedDifference
from queries.power import MetricPower, PowerAnalysis, power
from queries.selection import Request

FIELDS = [name for name in MetricPower.__struct_fields__ if name != "curve"]


class PowerParameters(CompareParameters, frozen=True):
    """Which two runs are compared, on which metrics, and which difference should be detectable."""

    d: WantedDifference = None


def _power(query: Request[PowerParameters]) -> PowerAnalysis:
    parameters = query.parameters
    return service().ask(power, query.selection, parameters.a, parameters.b, parameters.metrics, parameters.d, parameters.margin)


@get_selected("/api/v1/power", PowerParameters)
def get_power(query: Request[PowerParameters]) -> Response:
    """How large a difference between two runs their common questions show with 80 % power (p < 0.05), how many questions a
    difference `d` needs, how many it takes to show that runs are equal within a `margin` or differ by as much, and what other
    numbers of questions would show.
    """
    return json_response(_power(query))


@get_selected("/api/v1/power.csv", PowerParameters)
def get_power_csv(query: Request[PowerParameters]) -> Response:
    """The same as CSV, a row per metric, without the curve over numbers of questions."""
    return csv_response(FIELDS, [[getattr(row, name) for name in FIELDS] for row in _power(query).metrics], "power")
