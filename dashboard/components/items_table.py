"""Single items: who answered what, how confidently, and whether it was right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html

from dashboard.components.links import page_link
from dashboard.components.numbers import DASH, short
from dashboard.components.table import table
from queries.items import Item


def items_table(items: Sequence[Item], link: Callable[[Item], str]) -> html.Div:
    """A row per item.

    Args:
        items: in order.
        link: address of the question of an item.
    """
    rows = [
        html.Tr(
            [
                html.Th(page_link(item.question_id, href=link(item)), scope="row"),
                html.Td(item.clue + 1, className="number"),
                html.Td(item.guess or "no answer", className="guess"),
                html.Td((item.answer or DASH).partition(" [")[0], className="guess", title=item.answer or ""),
                html.Td(short(item.confidence), className="number"),
                html.Td(short(item.correct, 2), className="number"),
            ]
        )
        for item in items
    ]
    return table(["Question", "Clue", "Guess", "Answer", "Confidence", "Correct"], rows, "Items")
