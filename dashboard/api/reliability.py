"""Reliability diagrams."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import get_selected
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.engine.reliability_diagrams import ReliabilityBin
from queries.parameters import NoParameters
from queries.reliability import Reliability, reliability
from queries.selection import Request


def _reliability(query: Request[NoParameters]) -> Reliability:
    return service().ask(reliability, query.selection)


@get_selected("/api/v1/reliability", NoParameters)
def get_reliability(query: Request[NoParameters]) -> Response:
    """Reliability diagrams: bins with the interval of their accuracy, the CORP curve with its consistency band, how often each
    confidence was stated.
    """
    return json_response(_reliability(query))


@get_selected("/api/v1/reliability.csv", NoParameters)
def get_reliability_csv(query: Request[NoParameters]) -> Response:
    """The bins as CSV, a row per run and bin."""
    fields = ReliabilityBin.__struct_fields__
    rows = [
        [run.run, run.model, run.elicitation, *(getattr(part, name) for name in fields)]
        for run in _reliability(query).runs
        for part in run.bins
    ]
    return csv_response(["run", "model", "elicitation", *fields], rows, "reliability")
