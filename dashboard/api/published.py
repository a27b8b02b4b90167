"""What the papers printed."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_response, json_response
from queries.metrics import CATALOGUE
from queries.published import Published, PublishedValue, published
from queries.selection import BadRequest


def _published() -> Published:
    """The values of the metrics and tables that the address names; all of them where it names none."""
    known = published()
    allowed = {
        "metric": list(dict.fromkeys([*CATALOGUE, *(value.metric for value in known.values)])),
        "table": [table.key for table in known.tables],
    }
    chosen: dict[str, list[str]] = {key: [] for key in allowed}
    for key, value in pairs():
        if key not in allowed:
            raise BadRequest("unknown_key", f"There is no key {key!r} here.", key, sorted(allowed))
        if value not in allowed[key]:
            raise BadRequest("unknown_value", f"There is no {key} {value!r}.", key, allowed[key])
        chosen[key].append(value)
    values = [
        value
        for value in known.values
        if value.metric in (chosen["metric"] or allowed["metric"]) and value.key in (chosen["table"] or allowed["table"])
    ]
    named = {value.key for value in values}
    return Published([table for table in known.tables if table.key in named], values)


@api.get("/api/v1/published")
def get_published() -> Response:
    """Published figures with their papers, tables and caveats; ``metric`` and ``table`` choose, each repeatable."""
    return json_response(_published())


@api.get("/api/v1/published.csv")
def get_published_csv() -> Response:
    """The figures as CSV."""
    rows = [list(msgspec.structs.astuple(value)) for value in _published().values]
    return csv_response(list(PublishedValue.__struct_fields__), rows, "published")
