"""The page of an unknown address."""

from __future__ import annotations

from collections.abc import Sequence

from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, register
from queries.selection.parameter_kinds import BadRequest


def draw(request: object) -> Sequence[Component]:
    """Draw nothing: raise ``BadRequest`` with status 404."""
    raise BadRequest("unknown_address", "The address may be misspelt, or the page may have moved.", status=404)


PAGE = register(Page(name="nowhere", path="", title="No such page", draw=draw, check=draw, parameters=PageParameters, filters=()))
