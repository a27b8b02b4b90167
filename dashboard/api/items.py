"""Single items: the answers behind a dot of a reliability diagram."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import Confidence
from queries.items import MAX_ITEMS, Item, ItemList, items
from queries.selection import Request
from queries.selection.parameter_kinds import Whole
from queries.selection.view_parameters_base import Parameters


class ItemsParameters(Parameters, frozen=True):
    """Which answers are listed, and how many."""

    confidence: Confidence = None
    limit: Annotated[int, Whole(f"how many answers: 100; at most {MAX_ITEMS}", MAX_ITEMS)] = 100


def _items(query: Request[ItemsParameters]) -> ItemList:
    return service().ask(items, query.selection, query.parameters.confidence, query.parameters.limit)


@get_selected("/api/v1/items", ItemsParameters)
def get_items(query: Request[ItemsParameters]) -> Response:
    """Single answers with a confidence in a range, furthest off first. `disputed`: the gradings of the run differ on it."""
    return json_response(_items(query))


@get_selected("/api/v1/items.csv", ItemsParameters)
def get_items_csv(query: Request[ItemsParameters]) -> Response:
    """The same as CSV."""
    fields = Item.__struct_fields__
    return csv_response(fields, [[getattr(item, name) for name in fields] for item in _items(query).items], "items")
