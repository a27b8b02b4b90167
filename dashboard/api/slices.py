"""Slices of the questions on which a run does worse than overall, or worse than another run."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import known_run
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.selection import Request
from queries.selection.parameter_kinds import MetricChoice
from queries.selection.view_parameters_base import Parameters
from queries.slices import SLICE_FIELDS, Slice, Slices, slices

RANKED = tuple(metric for metric in METRICS if metric.direction != "none")


class SlicesParameters(Parameters, frozen=True):
    """By which metric slices are compared, and with which run."""

    metric: Annotated[Metric, MetricChoice("metric to compare; `overconfidence` by default", RANKED)] = CATALOGUE[
        "overconfidence"
    ]
    against: Annotated[str | None, known_run("the run that others are compared with; by default each run with itself")] = None


def _slices(query: Request[SlicesParameters]) -> Slices:
    return service().ask(slices, query.selection, query.parameters.metric, query.parameters.against)


@get_selected("/api/v1/slices", SlicesParameters)
def get_slices(query: Request[SlicesParameters]) -> Response:
    """Where runs do worse: each run on every category, radius and third of difficulty, on every two of these together, and on
    every value of an attribute, compared with itself overall or with another run there. p-values are adjusted for all of these.
    """
    return json_response(_slices(query))


@get_selected("/api/v1/slices.csv", SlicesParameters)
def get_slices_csv(query: Request[SlicesParameters]) -> Response:
    """The same as CSV, a row per run and slice."""
    fields = [name for name in Slice.__struct_fields__ if name != "filters"]
    parts = _slices(query).slices
    keys = dict.fromkeys([*SLICE_FIELDS, *sorted({key for part in parts for key in part.filters})])
    rows = [[*(part.filters.get(by) for by in keys), *(getattr(part, name) for name in fields)] for part in parts]
    return csv_response([*keys, *fields], rows, "slices")
