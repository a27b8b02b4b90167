"""Figures printed in the papers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import csv_response, json_response
from queries.metrics import CATALOGUE
from queries.published_values import Published, PublishedValue, published
from queries.selection.parameter_kinds import Choices
from queries.selection.view_parameters_base import Parameters

TABLES = tuple(table.key for table in published().tables)
PUBLISHED_METRICS = tuple(dict.fromkeys([*CATALOGUE, *(value.metric for value in published().values)]))


class PublishedParameters(Parameters, frozen=True):
    """Which published figures are listed."""

    metric: Annotated[tuple[str, ...], Choices("`ece`: figures of this metric; repeatable", PUBLISHED_METRICS)] = ()
    table: Annotated[tuple[str, ...], Choices("`grace-table-1`: figures from this table; repeatable", TABLES)] = ()


def _published(parameters: PublishedParameters) -> Published:
    """Return the published values of the metrics and tables that the address names, or all if it names none."""
    metrics, tables = parameters.metric or PUBLISHED_METRICS, parameters.table or TABLES
    values = [value for value in published().values if value.metric in metrics and value.key in tables]
    named = {value.key for value in values}
    return Published([table for table in published().tables if table.key in named], values)


@get("/api/v1/published", PublishedParameters)
def get_published(parameters: PublishedParameters) -> Response:
    """Figures printed in papers, with their papers, tables and caveats."""
    return json_response(_published(parameters))


@get("/api/v1/published.csv", PublishedParameters)
def get_published_csv(parameters: PublishedParameters) -> Response:
    """The figures as CSV."""
    rows = [list(msgspec.structs.astuple(value)) for value in _published(parameters).values]
    return csv_response(list(PublishedValue.__struct_fields__), rows, "published")
