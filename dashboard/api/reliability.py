"""Reliability diagrams."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.reliability import Reliability, ReliabilityBin, reliability


def _reliability() -> Reliability:
    selection, _, _ = service().parse(pairs())
    return service().ask(reliability, selection)


@api.get("/api/v1/reliability")
def get_reliability() -> Response:
    """Per run, per bin of confidence: items, mean confidence, accuracy and its interval; and the CORP curve."""
    return json_response(_reliability())


@api.get("/api/v1/reliability.csv")
def get_reliability_csv() -> Response:
    """The bins as CSV, a row per run and bin."""
    fields = ReliabilityBin.__struct_fields__
    rows = [
        [run.run, run.model, run.elicitation, *(getattr(each, name) for name in fields)]
        for run in _reliability().runs
        for each in run.bins
    ]
    return csv_response(["run", "model", "elicitation", *fields], rows, "reliability")
