"""Single items: who answered what, how confidently, and whether it was right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.controls import between
from dashboard.ui.html import page_link
from dashboard.ui.notices import disputed_mark
from dashboard.ui.numbers import DASH, short
from dashboard.ui.quizbowl import draw_text
from dashboard.ui.table import table
from data.plurals import counted
from queries.reliability import Item, ItemList
from queries.selection.parameter_kinds import Range


def items_section(
    result: ItemList, name: str, run_menu: Component, confidence: Range | None, link: Callable[[Item], str], *, quizbowl: bool
) -> html.Section:
    """Return the table below controls for the run and the range of confidence.

    ``confidence`` is None for all of 0 to 1. ``link`` maps an item to the address of its question.
    """
    low, high = confidence or (0.0, 1.0)
    return html.Section(
        [
            html.Div(
                [html.H2("Answers with the largest error"), run_menu, between("confidence", "Confidence", confidence)],
                className="heading",
            ),
            html.P(
                f"{counted(result.total, 'item')} of {name} with confidence from {low:g} to {high:g}"
                + (f", the first {len(result.items)} shown" if result.total > len(result.items) else ""),
                className="note",
            ),
            items_table(result.items, link, quizbowl=quizbowl),
        ],
        className="items",
    )


def items_table(items: Sequence[Item], link: Callable[[Item], str], *, quizbowl: bool) -> html.Div:
    """Return a row per item. ``link`` maps an item to the address of its question."""
    drawn = draw_text if quizbowl else lambda text: [text]
    rows = [
        html.Tr(
            [
                html.Th(page_link(item.question_id, href=link(item)), scope="row"),
                html.Td(item.clue + 1, className="number"),
                html.Td(item.guess or "no answer", className="guess"),
                html.Td(drawn((item.answer or DASH).partition(" [")[0]), className="guess", title=item.answer or ""),
                html.Td(short(item.confidence), className="number"),
                html.Td([short(item.correct, 2), disputed_mark() if item.disputed else None], className="number"),
            ]
        )
        for item in items
    ]
    return table(["Question", "Clue", "Guess", "Answer", "Confidence", "Correct"], rows, "Items")
