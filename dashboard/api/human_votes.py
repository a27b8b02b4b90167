"""Runs compared with human votes."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.human_votes import Histograms, People, people
from queries.selection import Request
from queries.selection.view_parameters_base import NoParameters


def _people(query: Request[NoParameters]) -> People:
    return service().ask(people, query.selection)


@get_selected("/api/v1/people", NoParameters)
def get_people(query: Request[NoParameters]) -> Response:
    """Runs and human votes: histograms of DistCE, EntCE and ranks, also for a human reference, and reliability of each class."""
    return json_response(_people(query))


@get_selected("/api/v1/people.csv", NoParameters)
def get_people_csv(query: Request[NoParameters]) -> Response:
    """The histograms as CSV: a row per run and bin, with the items of the run and of the human reference."""
    answer = _people(query)
    header = ["run", "model", "elicitation", "histogram", "lower", "upper", "items", "reference_items"]
    rows = [
        [row.run, row.model, row.elicitation, *cells]
        for row in answer.rows
        if row.histograms
        for cells in _cells(answer, row.histograms, row.reference)
    ]
    return csv_response(header, rows, "people")


def _cells(answer: People, run: Histograms, reference: Histograms | None) -> list[list[object]]:
    """Return rows of: name of the histogram, lower and upper end of the bin, items, items of the reference."""
    pairs_of_classes = [float(count) for count in range(len(run.ranking))]
    tables = {
        "distance": (answer.distance_edges[:-1], answer.distance_edges[1:]),
        "entropy": (answer.entropy_edges[:-1], answer.entropy_edges[1:]),
        "ranking": (pairs_of_classes, pairs_of_classes),
    }
    cells_of_runs: list[list[object]] = []
    for name, (lower, upper) in tables.items():
        reference_items = getattr(reference, name) if reference else [None] * len(lower)
        cells_of_runs += [[name, *cells] for cells in zip(lower, upper, getattr(run, name), reference_items, strict=True)]
    return cells_of_runs
