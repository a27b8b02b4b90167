"""The calibration error as different projects compute it."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import BinnedRun, Intervals
from queries.selection import Request
from queries.selection.view_parameters_base import Parameters
from queries.which_ece import WhichEce, which_ece


class WhichEceParameters(Parameters, frozen=True):
    """Which run's bins are returned, and whether errors have intervals."""

    focus: BinnedRun = ""
    intervals: Intervals = False


def _which_ece(query: Request[WhichEceParameters]) -> WhichEce:
    return service().ask(which_ece, query.selection, query.parameters.focus, query.parameters.intervals)


@get_selected("/api/v1/which-ece", WhichEceParameters)
def get_which_ece(query: Request[WhichEceParameters]) -> Response:
    """The calibration error of each run as different projects compute it, with its rank and the number of items left out; the
    bins of one run; and Kendall's tau-b between the rankings.
    """
    return json_response(_which_ece(query))


@get_selected("/api/v1/which-ece.csv", WhichEceParameters)
def get_which_ece_csv(query: Request[WhichEceParameters]) -> Response:
    """The errors as CSV, a row per run and variant."""
    result = _which_ece(query)
    names = {run.run: run for run in result.runs}
    rows = [
        [
            row.run,
            names[row.run].model,
            names[row.run].elicitation,
            variant.key,
            row.value,
            row.rank,
            row.left_out,
            variant.source,
            row.low,
            row.high,
        ]
        for variant in result.variants
        for row in variant.runs
    ]
    header = ["run", "model", "elicitation", "variant", "value", "rank", "left_out", "source", "low", "high"]
    return csv_response(header, rows, "which-ece")
