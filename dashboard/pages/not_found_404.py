"""What stands at an address that is none."""

from __future__ import annotations

from typing import Any

from dashboard.view import PageParameters, View, register
from queries.parameters import BadRequest


def draw(request: object) -> Any:
    """Nothing to draw."""
    raise BadRequest("unknown_address", "The address may be misspelt, or the page may have moved.", status=404)


VIEW = register(View(name="nowhere", path="", title="No such page", draw=draw, check=draw, parameters=PageParameters, filters=()))
