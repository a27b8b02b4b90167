"""Runs beside the votes of people."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.people import Histograms, People, people


def _people() -> People:
    selection, _, _ = service().parse(pairs())
    return service().ask(people, selection)


@api.get("/api/v1/people")
def get_people() -> Response:
    """Histograms of each run's distance from people, with the human reference's."""
    return json_response(_people())


@api.get("/api/v1/people.csv")
def get_people_csv() -> Response:
    """The histograms as CSV: a row per run and bin, with the reference's items beside the run's."""
    answer = _people()
    header = ["run", "model", "elicitation", "histogram", "lower", "upper", "items", "reference_items"]
    rows = [
        [row.run, row.model, row.elicitation, *cells]
        for row in answer.rows
        if row.histograms
        for cells in _cells(answer, row.histograms, row.reference)
    ]
    return csv_response(header, rows, "people")


def _cells(answer: People, run: Histograms, reference: Histograms | None) -> list[list[object]]:
    """Name of the histogram, ends of the bin, items, items of the reference."""
    pairs_of_classes = [float(count) for count in range(len(run.ranking))]
    tables = {
        "distance": (answer.distance_edges[:-1], answer.distance_edges[1:]),
        "entropy": (answer.entropy_edges[:-1], answer.entropy_edges[1:]),
        "ranking": (pairs_of_classes, pairs_of_classes),
    }
    found: list[list[object]] = []
    for name, (lower, upper) in tables.items():
        beside = getattr(reference, name) if reference else [None] * len(lower)
        found += [[name, *cells] for cells in zip(lower, upper, getattr(run, name), beside, strict=True)]
    return found
