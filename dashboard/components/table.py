"""Plain tables, which scroll by themselves where they are wider than the page."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import aria

Cell = str | Component


def table(head: Sequence[Cell], rows: Sequence[html.Tr], label: str, class_name: str | None = None) -> html.Div:
    """A table of rows. A heading is aligned as the cell below it in the first row.

    Args:
        head: headings of the columns; an ``html.Th`` stands as it is.
        rows: with ``html.Th(scope="row")`` first.
        label: what the table holds, for screen readers.
        class_name: of the table.
    """
    first = rows[0].children if rows else []
    sides = [getattr(cell, "className", None) or "" for cell in first] or [""] * len(head)
    columns = [
        name if isinstance(name, html.Th) else html.Th(name, scope="col", className="number" if side == "number" else "")
        for name, side in zip(head, sides, strict=True)
    ]
    inside = html.Table([html.Thead(html.Tr(columns)), html.Tbody(list(rows))], className=class_name)
    return html.Div(inside, className="scroll", tabIndex="0", role="region", **aria(label=label))


def row(name: Cell | Sequence[Component], *cells: Cell) -> html.Tr:
    """A row: its name, and its cells. Text is taken for a number, and aligned right."""
    first = html.Th(name if isinstance(name, str | Component) else list(name), scope="row")
    return html.Tr([first, *(html.Td(cell, className="number" if isinstance(cell, str) else "") for cell in cells)])
