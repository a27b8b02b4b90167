"""The metrics: what each one is, where it comes from, which axioms it satisfies, and what the papers leave open."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.ui.html import aria
from dashboard.views.metrics.sections import axioms_section, intervals_section, metric_definition_section, notes_section
from queries.metric_definitions import MetricDefinitions, metric_definitions


def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """Draw a table of contents, the metrics by family, intervals and tests, the axioms, and the notes."""
    known = metric_definitions()
    titles = {entry.key: entry.name for entry in known.metrics}
    return [
        html.Div([html.H1("Metrics"), html.P(_lead(known), className="lead")], className="heading"),
        html.Div(
            [
                _contents(known),
                html.Div(
                    [
                        *(part for family in known.families for part in _family(family.key, known)),
                        intervals_section(known),
                        axioms_section(known),
                        notes_section(known.notes, titles),
                    ],
                    className="entries",
                ),
            ],
            className="catalogue",
        ),
    ]


def _lead(known: MetricDefinitions) -> str:
    return (
        f"{len(known.metrics)} definitions, as computed here; c is a confidence, y a correctness, h the human curve, g = 2y − 1"
    )


def _contents(known: MetricDefinitions) -> html.Nav:
    lists: list[Component] = []
    for family in known.families:
        entries = [entry for entry in known.metrics if entry.family == family.key]
        lists += [
            html.P(html.A(family.title, href=f"#{family.key}")),
            html.Ul([html.Li(html.A(entry.label, href=f"#{entry.key}", title=entry.name)) for entry in entries]),
        ]
    after = (("Intervals and tests", "intervals"), ("Axioms", "axioms"), ("What the papers leave open", "notes"))
    lists.append(html.P([html.A(title, href=f"#{key}") for title, key in after]))
    return html.Nav(lists, className="contents", **aria(label="Metrics"))


def _family(key: str, known: MetricDefinitions) -> list[Component]:
    (family,) = (family for family in known.families if family.key == key)
    entries = [entry for entry in known.metrics if entry.family == key]
    if not entries:
        return []
    notes = {note.key: note for note in known.notes}
    return [
        html.H2([family.title, html.Span(family.words, className="lead")], id=key, className="family"),
        *(metric_definition_section(entry, notes) for entry in entries),
    ]


PAGE = register(
    Page(name="metrics", path="/metrics", title="Metrics", place=95, draw=draw, parameters=PageParameters, filters=())
)
