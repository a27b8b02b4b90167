"""All datasets on one page."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import csv_response, json_response
from dashboard.composite_queries import across_datasets, across_diagrams
from dashboard.shared_parameters import AcrossDatasets, AcrossMetric, AcrossRows, AcrossTag
from queries.across import Across, AcrossCell, AcrossDiagrams
from queries.engine.reliability_diagrams import ReliabilityBin
from queries.metrics import CATALOGUE, Conventions
from queries.selection import CONVENTIONS
from queries.selection.parameter_kinds import Flag
from queries.selection.view_parameters_base import Parameters

CELL = AcrossCell.__struct_fields__
OVERALL = ("mean_rank", "mean_place", "ranked_on")
BIN = ReliabilityBin.__struct_fields__


class AcrossParameters(Parameters, frozen=True):
    """Which metric is compared across which datasets."""

    metric: AcrossMetric = CATALOGUE["net_score"]
    datasets: AcrossDatasets = ()
    rows: AcrossRows = "models"
    pool: AcrossTag = ""
    failed: Annotated[bool, Flag("`1`: failed calls count as wrong in accuracies and as 0 in the net score")] = False
    conventions: Annotated[Conventions, CONVENTIONS] = Conventions()


def _across(parameters: AcrossParameters) -> Across:
    return across_datasets(
        parameters.metric, parameters.datasets, parameters.rows, parameters.conventions, parameters.failed, parameters.pool
    )


@get("/api/v1/across", AcrossParameters)
def get_across(parameters: AcrossParameters) -> Response:
    """A metric of each model on each dataset, with intervals, ranks by dataset and mean ranks, and where the model is over- or
    underconfident. Filters on runs and questions do not apply: values are those of each dataset's leaderboard.
    """
    return json_response(_across(parameters))


@get("/api/v1/across.csv", AcrossParameters)
def get_across_csv(parameters: AcrossParameters) -> Response:
    """The same as CSV, a row per model and dataset."""
    result = _across(parameters)
    rows = [
        [
            row.model,
            row.elicitation,
            dataset,
            *(getattr(cell, name) for name in CELL),
            row.mean_rank,
            row.mean_place,
            row.ranked_on,
        ]
        for row in result.rows
        for dataset, cell in row.cells.items()
    ]
    return csv_response(
        ["model", "elicitation", "dataset", *CELL, "mean_rank", "mean_place", "ranked_on"], rows, f"across-{result.metric}"
    )


def _diagrams(parameters: AcrossParameters) -> AcrossDiagrams:
    return across_diagrams(parameters.datasets, parameters.rows, parameters.conventions, parameters.failed)


@get("/api/v1/across/diagrams", AcrossParameters)
def get_across_diagrams(parameters: AcrossParameters) -> Response:
    """The bins of the reliability diagram of each model on each dataset, as `/api/v1/reliability` gives them for one dataset.
    `metric` and `pool` have no effect.
    """
    return json_response(_diagrams(parameters))


@get("/api/v1/across/diagrams.csv", AcrossParameters)
def get_across_diagrams_csv(parameters: AcrossParameters) -> Response:
    """The same as CSV, a row per model, dataset and bin."""
    header = ["dataset", "run", "model", "elicitation", *BIN]
    rows = [
        [diagram.dataset, diagram.run, diagram.model, diagram.elicitation, *(getattr(bin_, name) for name in BIN)]
        for diagram in _diagrams(parameters).diagrams
        for bin_ in diagram.bins
    ]
    return csv_response(header, rows, "across-diagrams")


@get("/api/v1/across/groups.csv", AcrossParameters)
def get_across_groups_csv(parameters: AcrossParameters) -> Response:
    """Means over the runs with each value of a tag (`pool=`) as CSV, a row per value and dataset. `runs` counts the runs."""
    result = _across(parameters)
    rows = [
        [group.value, dataset, len(cell.runs), cell.mean, cell.low, cell.high, cell.questions]
        for group in result.groups
        for dataset, cell in group.cells.items()
    ]
    return csv_response(["value", "dataset", "runs", "mean", "low", "high", "questions"], rows, f"across-{result.metric}-groups")
