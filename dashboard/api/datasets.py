"""What the store holds."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import no_keys
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.datasets import Dataset, Datasets


@api.get("/api/v1/datasets")
def get_datasets() -> Response:
    """Every dataset."""
    no_keys()
    return json_response(Datasets(service().datasets()))


@api.get("/api/v1/datasets.csv")
def get_datasets_csv() -> Response:
    """Every dataset, as CSV."""
    no_keys()
    header = [field.name for field in msgspec.structs.fields(Dataset)]
    rows = [
        [";".join(map(str, cell)) if isinstance(cell, list) else cell for cell in msgspec.structs.astuple(row)]
        for row in service().datasets()
    ]
    return csv_response(header, rows, "datasets")
