"""Single items: the answers behind a dot of a reliability diagram."""

from __future__ import annotations

from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs, single, whole
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.items import MOST_ITEMS, Item, Items, items
from queries.selection import parse_range


def _items() -> Items:
    selection, _, extra = service().parse(pairs(), also=("confidence", "limit"))
    confidence = parse_range("confidence", single(extra, "confidence"))
    return service().ask(items, selection, confidence, whole(extra, "limit", 100, MOST_ITEMS))


@api.get("/api/v1/items")
def get_items() -> Response:
    """The items of a selection with a confidence in a range, furthest off first."""
    return json_response(_items())


@api.get("/api/v1/items.csv")
def get_items_csv() -> Response:
    """The same as CSV."""
    fields = Item.__struct_fields__
    return csv_response(fields, [[getattr(one, name) for name in fields] for one in _items().items], "items")
