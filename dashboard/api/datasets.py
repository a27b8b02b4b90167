"""Datasets in the store."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.datasets import Dataset, Datasets
from queries.selection.view_parameters_base import NoParameters


@get("/api/v1/datasets", NoParameters)
def get_datasets(parameters: NoParameters) -> Response:
    """Datasets with their counts (questions, runs, human teams and their buzzes, human votes and questions voted on), categories,
    licence and source.
    """
    return json_response(Datasets(service().datasets()))


@get("/api/v1/datasets.csv", NoParameters)
def get_datasets_csv(parameters: NoParameters) -> Response:
    """The same as CSV."""
    header = [field.name for field in msgspec.structs.fields(Dataset)]
    rows = [
        [";".join(map(str, cell)) if isinstance(cell, list) else cell for cell in msgspec.structs.astuple(row)]
        for row in service().datasets()
    ]
    return csv_response(header, rows, "datasets")
