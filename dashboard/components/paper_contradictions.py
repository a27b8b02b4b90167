"""What the papers leave open, and what Clueline does there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from dashboard.components.metric_definition import inline_links
from queries.metric_definitions import SourceNote


def notes_section(notes: Sequence[SourceNote], titles: Mapping[str, str]) -> html.Section:
    """Return a section with an entry per note.

    Args:
        notes: notes in order.
        titles: name of each metric by key, for links.
    """
    entries = [
        html.Section(
            [
                html.H3([note.title, html.Span(note.source, className="range")]),
                html.P(note.text),
                html.P(inline_links([(f"#{key}", titles[key]) for key in note.metrics]), className="links")
                if note.metrics
                else None,
            ],
            id=f"note-{note.key}",
            className="metric",
        )
        for note in notes
    ]
    return html.Section([html.H2("What the papers leave open, and what Clueline does", className="family"), *entries], id="notes")
