"""Plain tables, which scroll by themselves where they are wider than the page."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import aria

Cell = str | Component


def table(head: Sequence[Cell], rows: Sequence[html.Tr], label: str) -> html.Div:
    """A table of rows; a heading stands over its column as the cells of the first row do.

    Args:
        head: headings of the columns.
        rows: with ``html.Th(scope="row")`` first.
        label: what it holds, for those who cannot see it.
    """
    first = rows[0].children if rows else []
    sides = [getattr(cell, "className", None) or "" for cell in first] or [""] * len(head)
    columns = [
        html.Th(name, scope="col", className="number" if side == "number" else "") for name, side in zip(head, sides, strict=True)
    ]
    inside = html.Table([html.Thead(html.Tr(columns)), html.Tbody(list(rows))])
    return html.Div(inside, className="scroll", tabIndex="0", role="region", **aria(label=label))


def row(name: Cell | Sequence[Component], *cells: Cell) -> html.Tr:
    """A row: its name and what belongs to it; text is taken for a number, and stands to the right."""
    first = html.Th(name if isinstance(name, str | Component) else list(name), scope="row")
    return html.Tr([first, *(html.Td(cell, className="number" if isinstance(cell, str) else "") for cell in cells)])
