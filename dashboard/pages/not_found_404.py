"""What stands at an address that is none."""

from __future__ import annotations

from typing import Any

import dash

from dashboard.view import PageParameters, View, page, register
from queries.parameters import BadRequest


def draw(request: object) -> Any:
    """Nothing to draw."""
    raise BadRequest("unknown_address", "The address may be misspelt, or the page may have moved.", status=404)


VIEW = register(View(name="nowhere", path="", title="No such page", draw=draw, parameters=PageParameters, filters=()))


def layout(**query: Any) -> Any:
    """The page; whatever the address asks for, nothing is read of it."""
    return page(VIEW, {})


dash.register_page(__name__, title="No such page · Clueline", layout=layout)
