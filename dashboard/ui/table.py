"""Plain tables, which scroll on their own if they are wider than the page."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.html import aria
from dashboard.ui.numbers import DASH

Cell = str | Component


def table(head: Sequence[Cell], rows: Sequence[html.Tr], label: str, class_name: str | None = None) -> html.Div:
    """Return a table of rows. Each heading is aligned like the cell below it in the first row.

    Each row starts with ``html.Th(scope="row")``. ``label`` says what the table holds, for screen readers. A heading that is an
    ``html.Th`` is used as it is.
    """
    first = rows[0].children if rows else []
    sides = [getattr(cell, "className", None) or "" for cell in first] or [""] * len(head)
    columns = [
        name if isinstance(name, html.Th) else html.Th(name, scope="col", className="number" if side == "number" else "")
        for name, side in zip(head, sides, strict=True)
    ]
    inside = html.Table([html.Thead(html.Tr(columns)), html.Tbody(list(rows))], className=class_name)
    return html.Div(inside, className="scroll", tabIndex="0", role="region", **aria(label=label))


def dash(reason: str | None) -> Cell:
    """Return a dash in place of a number or an interval, with the reason as its title."""
    return html.Span(DASH, title=f"None, because {reason}", className="number") if reason else DASH


def row(name: Cell | Sequence[Component], *cells: Cell) -> html.Tr:
    """Return a row: its name, and its cells. Cells of plain text, or of class ``number``, are aligned right."""
    first = html.Th(name if isinstance(name, str | Component) else list(name), scope="row")

    def side(cell: Cell) -> str:
        return "number" if isinstance(cell, str) or getattr(cell, "className", "") == "number" else ""

    return html.Tr([first, *(html.Td(cell, className=side(cell)) for cell in cells)])
