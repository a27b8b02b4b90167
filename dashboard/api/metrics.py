"""The catalogue of metrics."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import csv_response, json_response
from queries.metric_definitions import MetricDefinition, metric_definitions
from queries.selection.view_parameters_base import NoParameters

COLUMNS = (
    "key", "family", "name", "label", "symbol", "direction", "low", "high", "formula", "words", "source", "needs", "level",
    "human", "binned", "undefined", "caveat", "notes", "address", "fields",
)  # fmt: skip


@get("/api/v1/metrics", NoParameters)
def get_metrics(parameters: NoParameters) -> Response:
    """The catalogue: each metric's definition, source, axioms and caveat; and where papers contradict each other."""
    return json_response(metric_definitions())


@get("/api/v1/metrics.csv", NoParameters)
def get_metrics_csv(parameters: NoParameters) -> Response:
    """The metrics as CSV. Lists are separated by semicolons; `axioms` is blank if they do not apply."""
    rows = [[_plain(getattr(entry, column)) for column in COLUMNS] + _axioms(entry) for entry in metric_definitions().metrics]
    return csv_response([*COLUMNS, "axioms", "axioms_where"], rows, "metrics")


def _plain(value: object) -> object:
    return ";".join(map(str, value)) if isinstance(value, list) else value


def _axioms(entry: MetricDefinition) -> list[object]:
    if entry.axioms is None:
        return [None, None]
    return [";".join(entry.axioms.satisfied) or "none", entry.axioms.where]
