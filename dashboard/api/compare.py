"""Comparisons of runs with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import Margin, Metrics, known_run
from queries.compare import Comparison, Comparisons, DetailedComparison, Difference, compare, comparisons
from queries.engine.equivalence import Equivalence
from queries.metrics import METRICS
from queries.selection import Request
from queries.selection.view_parameters_base import Parameters

FIELDS = [name for name in Difference.__struct_fields__ if name not in ("a", "b", "margin")]


class CompareParameters(Parameters, frozen=True):
    """Which two runs are compared, by which metrics, and which difference does not matter."""

    a: Annotated[str, known_run("id of the first of two runs to compare")]
    b: Annotated[str, known_run("id of the second of two runs to compare")]
    metrics: Metrics = METRICS
    margin: Margin = None


class PairsParameters(Parameters, frozen=True):
    """Which runs are compared, and by which metrics."""

    a: Annotated[str | None, known_run("id of a run to compare with all others; by default every pair of runs")] = None
    metrics: Metrics = METRICS


def _compare(query: Request[CompareParameters]) -> DetailedComparison:
    parameters = query.parameters
    return service().ask(compare, query.selection, parameters.a, parameters.b, parameters.metrics, parameters.margin)


def _table(comparisons: Sequence[Comparison], name: str, margin: Sequence[str] = ()) -> Response:
    header = ["a", "b", "questions", "metric", "value_a", "value_b", *FIELDS, *(f"margin_{field}" for field in margin)]
    rows = [
        [pair.a.run, pair.b.run, pair.questions, key, cell.a, cell.b]
        + [getattr(cell, field) for field in FIELDS]
        + [getattr(cell.margin, field, None) for field in margin]
        for pair in comparisons
        for key, cell in pair.metrics.items()
    ]
    return csv_response(header, rows, name)


@get_selected("/api/v1/compare", CompareParameters)
def get_compare(query: Request[CompareParameters]) -> Response:
    """Two runs on the questions that both answered: paired differences a - b with intervals and p-values, and those questions.
    With a `margin`, also whether the runs are `equal`, `different` or `undecided`.
    """
    return json_response(_compare(query))


@get_selected("/api/v1/compare.csv", CompareParameters)
def get_compare_csv(query: Request[CompareParameters]) -> Response:
    """The differences as CSV, a row per metric."""
    return _table([_compare(query)], "compare", Equivalence.__struct_fields__ if query.parameters.margin is not None else ())


def _comparisons(query: Request[PairsParameters]) -> Comparisons:
    return service().ask(comparisons, query.selection, query.parameters.a, query.parameters.metrics)


@get_selected("/api/v1/pairs", PairsParameters)
def get_pairs(query: Request[PairsParameters]) -> Response:
    """Differences of every pair of runs or, with `a`, of that run and each other run, with p-values adjusted for
    all pairs (Holm) and, except for the primary metric, for all other metrics.
    """
    return json_response(_comparisons(query))


@get_selected("/api/v1/pairs.csv", PairsParameters)
def get_pairs_csv(query: Request[PairsParameters]) -> Response:
    """The same as CSV, a row per pair of runs and metric."""
    return _table(_comparisons(query).comparisons, "pairs")
