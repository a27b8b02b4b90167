"""Runs against each other, and metrics against each other."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import metrics_of, pairs, single
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.agreement import Agreement, RankCorrelation, agreement
from queries.compare import Comparison, Comparisons, DetailedComparison, Difference, compare, comparisons
from queries.selection import BadRequest

FIELDS = [name for name in Difference.__struct_fields__ if name not in ("a", "b")]


def _compare() -> DetailedComparison:
    selection, _, extra = service().parse(pairs(), also=("a", "b", "metrics"))
    a, b = single(extra, "a"), single(extra, "b")
    for key, run in (("a", a), ("b", b)):
        if run is None:
            raise BadRequest("missing_key", f"Name two runs to compare, a and b: {key} is missing.", key)
    return service().ask(compare, selection, a, b, metrics_of(extra["metrics"]))


def _table(comparisons: Sequence[Comparison], name: str) -> Response:
    header = ["a", "b", "questions", "metric", "value_a", "value_b", *FIELDS]
    rows = [
        [one.a.run, one.b.run, one.questions, key, found.a, found.b, *(getattr(found, field) for field in FIELDS)]
        for one in comparisons
        for key, found in one.metrics.items()
    ]
    return csv_response(header, rows, name)


@api.get("/api/v1/compare")
def get_compare() -> Response:
    """Paired differences of two runs on the questions that both answered, and these questions."""
    return json_response(_compare())


@api.get("/api/v1/compare.csv")
def get_compare_csv() -> Response:
    """The differences as CSV, a row per metric."""
    return _table([_compare()], "compare")


def _comparisons() -> Comparisons:
    selection, _, extra = service().parse(pairs(), also=("a", "metrics"))
    return service().ask(comparisons, selection, single(extra, "a"), metrics_of(extra["metrics"]))


@api.get("/api/v1/pairs")
def get_pairs() -> Response:
    """Paired differences of every two runs, or of run ``a`` and every other, with Holm's adjustment."""
    return json_response(_comparisons())


@api.get("/api/v1/pairs.csv")
def get_pairs_csv() -> Response:
    """The same as CSV, a row per pair of runs and metric."""
    return _table(_comparisons().comparisons, "pairs")


def _agreement() -> Agreement:
    selection, _, extra = service().parse(pairs(), also=("metrics",))
    return service().ask(agreement, selection, metrics_of(extra["metrics"]))


@api.get("/api/v1/agreement")
def get_agreement() -> Response:
    """Kendall's tau-b between the rankings of each two metrics."""
    return json_response(_agreement())


@api.get("/api/v1/agreement.csv")
def get_agreement_csv() -> Response:
    """The same as CSV, a row per pair of metrics."""
    fields = RankCorrelation.__struct_fields__
    return csv_response(fields, [[getattr(pair, name) for name in fields] for pair in _agreement().pairs], "agreement")
