"""Answer or abstain: the value of answers for every cost of a wrong one."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import FirstCurve, SecondCurve
from queries.decide import Decisions, decide
from queries.selection import Request
from queries.selection.view_parameters_base import Parameters

CURVES = ("net_score", "best_score")


class DecideParameters(Parameters, frozen=True):
    """Which two runs are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


def _decisions(query: Request[DecideParameters]) -> Decisions:
    return service().ask(decide, query.selection, query.parameters.a, query.parameters.b)


@get_selected("/api/v1/decide", DecideParameters)
def get_decide(query: Request[DecideParameters]) -> Response:
    """Answer or abstain, at each t from 0 to 1: Murphy curves and net scores, the share answered and its risk, risk by coverage,
    the best threshold, and what thresholds chosen so on other questions earn; AURC, AUGRC, PRR and accuracy at coverage; the
    difference of two runs with a simultaneous band over all t; and people's net scores.
    """
    return json_response(_decisions(query))


@get_selected("/api/v1/decide.csv", DecideParameters)
def get_decide_csv(query: Request[DecideParameters]) -> Response:
    """The curves as CSV, a row per run and t below 1. Rows for people have a blank `run`."""
    result = _decisions(query)
    parts = ("values", "low", "high")
    header = ["run", "model", "elicitation", "t", "murphy", "answered", "risk", "best_threshold"]
    header += [f"{curve}{'' if part == 'values' else '_' + part}" for curve in CURVES for part in parts]
    rows: list[list[object]] = []
    for run in result.runs:
        columns = [getattr(getattr(run, curve), part) for curve in CURVES for part in parts]
        for place, t in enumerate(result.thresholds[:-1]):
            cells = [run.murphy[place], run.answered[place], run.risk[place], run.best_threshold[place]]
            rows.append([run.run, run.model, run.elicitation, t, *cells, *(column[place] for column in columns)])
    if result.people:
        net = result.people.net_score
        for place, t in enumerate(result.thresholds[:-1]):
            earned = [net.values[place], net.low[place], net.high[place]]
            rows.append([None, "people", None, t, *[None] * 4, *earned, *[None] * 3])
    return csv_response(header, rows, "decide")
