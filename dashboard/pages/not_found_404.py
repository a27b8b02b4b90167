"""What stands at an address that is none."""

from __future__ import annotations

from typing import Any

from dashboard.page_registry import Page, PageParameters, register
from queries.parameters import BadRequest


def draw(request: object) -> Any:
    """Nothing to draw."""
    raise BadRequest("unknown_address", "The address may be misspelt, or the page may have moved.", status=404)


PAGE = register(Page(name="nowhere", path="", title="No such page", draw=draw, check=draw, parameters=PageParameters, filters=()))
