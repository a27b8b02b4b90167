"""A metric of runs over the release dates of their models."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.release_dates import DatedRun, ReleaseDates, release_dates
from queries.selection import Request
from queries.selection.parameter_kinds import MetricChoice
from queries.selection.view_parameters_base import Parameters

FIELDS = DatedRun.__struct_fields__


class ReleaseDatesParameters(Parameters, frozen=True):
    """Which metric is shown."""

    metric: Annotated[Metric, MetricChoice("which metric; `brier` by default", METRICS)] = CATALOGUE["brier"]


def _dated(query: Request[ReleaseDatesParameters]) -> ReleaseDates:
    return service().ask(release_dates, query.selection, query.parameters.metric)


@get_selected("/api/v1/release-dates", ReleaseDatesParameters)
def get_release_dates(query: Request[ReleaseDatesParameters]) -> Response:
    """A metric of each ranked run with the tag `released` (`2024`, `2024-05` or `2024-05-13`), by date, with its interval; which
    runs were the best up to their date; and the runs without a date.
    """
    return json_response(_dated(query))


@get_selected("/api/v1/release-dates.csv", ReleaseDatesParameters)
def get_release_dates_csv(query: Request[ReleaseDatesParameters]) -> Response:
    """The same as CSV, a row per run with a date."""
    return csv_response(FIELDS, [[getattr(run, name) for name in FIELDS] for run in _dated(query).runs], "release-dates")
