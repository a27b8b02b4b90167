"""Reliability diagrams."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import BAND
from queries.engine.reliability_diagrams import DEFAULT_BAND, BandKind, ReliabilityBin
from queries.reliability import Reliability, reliability
from queries.selection import Request
from queries.selection.view_parameters_base import Parameters


class ReliabilityParameters(Parameters, frozen=True):
    """Which consistency band is drawn."""

    band: Annotated[BandKind, BAND] = DEFAULT_BAND


def _reliability(query: Request[ReliabilityParameters]) -> Reliability:
    return service().ask(reliability, query.selection, query.parameters.band or DEFAULT_BAND)


@get_selected("/api/v1/reliability", ReliabilityParameters)
def get_reliability(query: Request[ReliabilityParameters]) -> Response:
    """Reliability diagrams: bins with intervals of their accuracy, the CORP curve with its consistency band, and how often each
    confidence was stated.
    """
    return json_response(_reliability(query))


@get_selected("/api/v1/reliability.csv", ReliabilityParameters)
def get_reliability_csv(query: Request[ReliabilityParameters]) -> Response:
    """The bins as CSV, a row per run and bin."""
    fields = ReliabilityBin.__struct_fields__
    rows = [
        [run.run, run.model, run.elicitation, *(getattr(part, name) for name in fields), run.no_interval]
        for run in _reliability(query).runs
        for part in run.bins
    ]
    return csv_response(["run", "model", "elicitation", *fields, "no_interval"], rows, "reliability")
