"""Datasets in the store."""

from __future__ import annotations

from dashboard.registry.tables import Table, fields
from dashboard.registry.views import View, register
from dashboard.service import service
from queries.datasets import Dataset, Datasets
from queries.selection.view_parameters_base import NoParameters


def _datasets() -> Datasets:
    return Datasets(service().datasets())


DATASETS = register(
    View(
        "datasets",
        _datasets,
        NoParameters,
        """Datasets with their counts (questions, runs, human teams and their buzzes, human votes and questions voted on),
        categories, licence and source.""",
        (Table("The same as CSV.", lambda answer: answer.datasets, fields(Dataset)),),
        selected=False,
    )
)
