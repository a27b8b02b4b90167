"""Figures printed in papers, as rows below the computed ones of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.controls import menu
from dashboard.ui.numbers import short
from dashboard.ui.table import Cell
from dashboard.ui.table import table as table_section
from queries.metrics import Metric
from queries.published_values import COUNT, PublishedRow, PublishedTable, published, published_rows


def published_menu(key: str) -> Component:
    """Return the menu that shows a table of published values."""
    options = {"": "None"} | {table.key: table.title for table in published().tables}
    return menu("published", "Published values", options, key)


def parts_menu(key: str, by: str) -> Component | None:
    """Return the menu for tables whose slices divide questions by ``by``; None if no paper printed one."""
    tables = [table for table in published().tables if table.by == by]
    if not tables:
        return None
    return menu("published", "Published values", {"": "None"} | {table.key: table.title for table in tables}, key)


PRINTED = "number figure-printed"
OWN = ("model", "elicitation", "items")  # columns that a published table also has


def published_body(key: str, shown: Sequence[Metric], columns: int) -> html.Tbody | None:
    """Return the rows of a published table, in its order and without ranks. Only metrics that it has are filled in.

    None if ``key`` is blank. ``shown`` are the last of the ``columns`` of the leaderboard.
    """
    if not key:
        return None
    table, rows = published_rows(key)
    heading = html.Th(
        [f"{table.paper}, {table.table}: as printed, not computed here. ", html.Span(table.about, className="lead")],
        colSpan=columns,
        scope="rowgroup",
        className="printed",
    )
    blank = columns - len(OWN) - len(shown)
    return html.Tbody([html.Tr(heading), *(_reference_row(table, row, shown, blank) for row in rows)], className="published")


def _reference_row(table: PublishedTable, row: PublishedRow, shown: Sequence[Metric], blank: int) -> html.Tr:
    answers = row.values.get(COUNT)
    return html.Tr(
        [
            html.Th(
                [html.Span(row.model, className="name"), html.Span(table.title, className="cited")],
                scope="row",
                title=f"Printed in {table.paper}, {table.table}",
            ),
            html.Td(" · ".join(part for part in (row.elicitation, row.slice) if part)),
            html.Td("" if answers is None else f"{answers:,.0f}", className="number"),
            *(html.Td("", className="number") for _ in range(blank)),
            *(
                html.Td(short(row.values[metric.key]), className="number figure-printed", title=_title(row, metric, table))
                if metric.key in row.values
                else html.Td("", className="number")
                for metric in shown
            ),
        ]
    )


def _title(row: PublishedRow, metric: Metric, table: PublishedTable) -> str:
    return f"{metric.name} = {row.values[metric.key]!r}, printed in {table.paper}, {table.table}"


def published_note(key: str, shown: Sequence[Metric]) -> html.P | None:
    """Return the caveat of a table, and which of its values have no column; None without a table."""
    if not key:
        return None
    table, rows = published_rows(key)
    columns = {metric.key for metric in shown} | {COUNT}
    others = list(dict.fromkeys(name for row in rows for name in row.values if name not in columns))
    unseen = f" It also has {', '.join(others)}, which are not columns here." if others else ""
    return html.P(f"{table.title}: {table.caveat}{unseen}", className="note")


def published_parts(key: str, metric: Metric) -> html.Section:
    """Return a published table whose slices divide questions: a row per model, a column per part, as printed.

    ``metric`` is shown if the table has it.
    """
    printed, rows = published_rows(key)
    parts = list(dict.fromkeys(row.slice or "" for row in rows))
    values = {(row.model, row.elicitation, row.slice): row.values.get(metric.key) for row in rows}
    models = list(dict.fromkeys((row.model, row.elicitation) for row in rows))
    body: Component
    if any(value is not None for value in values.values()):
        head: list[Cell] = ["Model", "Confidence", *(html.Th(part, scope="col", className="number") for part in parts)]
        body = table_section(
            head,
            [
                html.Tr(
                    [html.Th(model, scope="row"), html.Td(elicitation or "")]
                    + [
                        html.Td(short(values.get((model, elicitation, part))), className="number figure-printed")
                        for part in parts
                    ]
                )
                for model, elicitation in models
            ],
            f"{printed.title}, as printed",
            "board across",
        )
    else:
        others = " and ".join(dict.fromkeys(name for row in rows for name in row.values))
        body = html.P(f"It has {others}, not {metric.name}.", className="note")
    return html.Section(
        [
            html.H2(f"{printed.title}: {metric.name} as printed, not computed here"),
            html.P(f"{printed.paper}, {printed.about}. {printed.caveat}", className="note"),
            body,
        ],
        className="section published-parts",
    )
