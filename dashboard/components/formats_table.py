"""The table of formats: which files can be imported, and what they become."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.links import page_link
from dashboard.components.table import table
from data.readers import Format


def formats_section(formats: Sequence[Format]) -> html.Section:
    """Return the table under its heading."""
    rows = [
        html.Tr([
            html.Th(html.Code(row.key), scope="row"),
            *(html.Td(_marked(text)) for text in (row.reads, row.recognised, row.becomes)),
        ])
        for row in formats
    ]  # fmt: skip
    return html.Section(
        [
            html.H2("Files that can be imported"),
            html.P(
                [
                    "A format is recognised by its content. Send a file on the page ",
                    page_link("Upload", href="/upload"),
                    ", or import it with ",
                    html.Code("python -m dashboard import FILE"),
                    ".",
                ],
                className="note",
            ),
            table(
                ["Format", "What it reads", "How it is recognised", "What it becomes"],
                rows,
                "Files that can be imported",
                "prose",
            ),
        ],
        className="section",
    )


def _marked(text: str) -> list[Component | str]:
    """The text, with the parts in backticks as code."""
    return [html.Code(part) if place % 2 else part for place, part in enumerate(re.split("`", text)) if part]
