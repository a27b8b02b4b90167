"""Figures printed in papers, as rows below the computed ones of the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui.controls import menu
from clueline.dashboard.ui.html import note, section
from clueline.dashboard.ui.table import Body, Cell, PageColumn, html_table
from clueline.dashboard.ui.text import short
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.published_values import COUNT, PublishedRow, PublishedTable, published, published_rows


def published_menu(key: str, by: str | None = None) -> Component | None:
    """Return the menu of all tables of published values, or of those whose slices divide questions by ``by``; None for none."""
    options = {table.key: table.title for table in published().tables if by is None or table.by == by}
    return menu("published", "Published values", {"": "None"} | options, key) if options else None


def printed_metrics(key: str) -> list[Metric]:
    """Return the metrics of the catalogue that a table has, in its order."""
    _, rows = published_rows(key)
    return [CATALOGUE[name] for name in dict.fromkeys(name for row in rows for name in row.values) if name in CATALOGUE]


def published_body(key: str) -> Body | None:
    """Return the rows of a published table, in its order and without ranks, for the leaderboard. None if ``key`` is blank."""
    if not key:
        return None
    table, rows = published_rows(key)
    title = [f"{table.paper}, {table.table}: as printed, not computed here. ", html.Span(table.about, className="lead")]
    return Body([PrintedRow(table, row) for row in rows], title, "printed", {"className": "published"})


class PrintedRow(NamedTuple):
    """A row of a published table."""

    table: PublishedTable
    row: PublishedRow

    def name(self) -> Cell:
        """Return its model, and where it was printed."""
        words = [html.Span(self.row.model, className="name"), html.Span(self.table.title, className="cited")]
        return Cell(words, f"Printed in {self.table.paper}, {self.table.table}")

    def elicitation(self) -> str:
        """Return what is known of the elicitation, and the part of the questions."""
        return " · ".join(part for part in (self.row.elicitation, self.row.slice) if part)

    def answers(self) -> str:
        """Return the number of answers; blank if it was not printed."""
        answers = self.row.values.get(COUNT)
        return "" if answers is None else f"{answers:,.0f}"

    def value(self, metric: Metric) -> Cell:
        """Return a value; blank if it was not printed."""
        value = self.row.values.get(metric.key)
        if value is None:
            return Cell("")
        title = f"{metric.name} = {value!r}, printed in {self.table.paper}, {self.table.table}"
        return Cell(short(value), title, "number figure-printed")


def published_note(key: str, shown: Sequence[Metric], on_common: Component | None) -> html.P | None:
    """Return the caveat of a table, and which of its values have no column; None without a table.

    ``on_common`` links to the board on the questions that all runs answered; None if it is that, or there are no others.
    """
    if not key:
        return None
    table, rows = published_rows(key)
    columns = {metric.key for metric in shown} | {COUNT}
    others = list(dict.fromkeys(name for row in rows for name in row.values if name not in columns))
    unseen = f" It also has {', '.join(others)}, which are not columns here." if others else ""
    words = f"{table.title}: {table.caveat}{unseen}"
    if not table.common or on_common is None:
        return note(words)
    return note([f"{words} Its runs were measured on the questions that all of them answered; those above were not. ", on_common])


def published_parts(key: str, metric: Metric) -> html.Section:
    """Return a published table whose slices divide questions: a row per model, a column per part, as printed.

    ``metric`` is shown if the table has it.
    """
    printed, rows = published_rows(key)
    parts = list(dict.fromkeys(row.slice or "" for row in rows))
    values = {(row.model, row.elicitation, row.slice): row.values.get(metric.key) for row in rows}
    models = list(dict.fromkeys((row.model, row.elicitation) for row in rows))
    body: Component | str
    if any(value is not None for value in values.values()):
        columns = [PageColumn("Model", itemgetter(0)), PageColumn("Confidence", lambda model: model[1] or "")]
        columns += [_part_column(part, values) for part in parts]
        body = html_table(columns, models, f"{printed.title}, as printed", "board across")
    else:
        others = " and ".join(dict.fromkeys(name for row in rows for name in row.values))
        body = f"It has {others}, not {metric.name}."
    return section(
        f"{printed.title}: {metric.name} as printed, not computed here",
        f"{printed.paper}, {printed.about}. {printed.caveat}",
        body,
        class_name="section published-parts",
    )


def _part_column(part: str, values: Mapping[tuple[str, str | None, str | None], float | None]) -> PageColumn:
    return PageColumn(part, lambda model: Cell(values.get((*model, part)), kind="number figure-printed"), number=True)
