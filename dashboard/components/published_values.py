"""Figures printed in papers, as rows below the computed ones of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.controls import menu
from dashboard.components.numbers import short
from queries.metrics import Metric
from queries.published_values import COUNT, PublishedRow, PublishedTable, published, published_rows


def published_menu(key: str) -> Component:
    """The control that switches a table on."""
    options = {"": "None"} | {table.key: table.title for table in published().tables}
    return menu("published", "Published values", options, key)


OWN = ("model", "elicitation", "items")  # columns that a published table has, too


def published_body(key: str, shown: Sequence[Metric], columns: int) -> html.Tbody | None:
    """Rows of a published table, in its order, without ranks; cells only where it has a metric that is a column.

    Args:
        key: of the table; blank for none.
        shown: the metrics of the leaderboard, its last columns.
        columns: how many columns the leaderboard has in all.
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
    """The caveat of a table, and what it has that is no column."""
    if not key:
        return None
    table, rows = published_rows(key)
    columns = {metric.key for metric in shown} | {COUNT}
    others = list(dict.fromkeys(name for row in rows for name in row.values if name not in columns))
    unseen = f" It also has {', '.join(others)}, which are no columns here." if others else ""
    return html.P(f"{table.title}: {table.caveat}{unseen}", className="note")
