"""Where runs are worse than on the whole, or than another run."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import choice, pairs, single
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.metrics import CATALOGUE, METRICS
from queries.slices import SLICE_FIELDS, Slice, Slices, slices


def _slices() -> Slices:
    selection, _, extra = service().parse(pairs(), also=("metric", "against"))
    keys = [metric.key for metric in METRICS if metric.direction != "none"]
    return service().ask(slices, selection, CATALOGUE[choice(extra, "metric", keys)], single(extra, "against"))


@api.get("/api/v1/slices")
def get_slices() -> Response:
    """Every run in every part of a selection against itself on the whole, or against another run there."""
    return json_response(_slices())


@api.get("/api/v1/slices.csv")
def get_slices_csv() -> Response:
    """The same as CSV, a row per run and part."""
    fields = [name for name in Slice.__struct_fields__ if name != "filters"]
    rows = [[*(one.filters.get(by) for by in SLICE_FIELDS), *(getattr(one, name) for name in fields)] for one in _slices().slices]
    return csv_response([*SLICE_FIELDS, *fields], rows, "slices")
