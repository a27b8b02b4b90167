"""What the store holds."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.blueprint import get
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.datasets import Dataset, Datasets
from queries.parameters import NoParameters


@get("/api/v1/datasets", NoParameters)
def get_datasets(parameters: NoParameters) -> Response:
    """Datasets with counts (of questions, runs, human teams, their buzzes, human votes and the questions voted on), categories,
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
