"""The datasets: what each is, where it comes from, whether it is simulated."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.links import page_link
from dashboard.components.numbers import count
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, register
from queries.datasets import Dataset

KINDS = {
    "incremental": "questions revealed clue by clue", "single": "single-shot questions",
    "lifeeval": "lifespans, scored by the life table", "votes": "items with human votes",
}  # fmt: skip


def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """A card per dataset."""
    return [html.Div(html.H1("Datasets"), className="heading"), *(_card(dataset) for dataset in service().datasets())]


def _card(dataset: Dataset) -> html.Section:
    facts = {
        "Kind": KINDS.get(dataset.kind, dataset.kind),
        "Holds": f"{count(dataset.questions, 'question')}, {count(dataset.runs, 'run')}",
        "People": people(dataset),
        "Categories": ", ".join(dataset.categories) or None,
        "Radii": ", ".join(f"{radius} years" if radius > 1 else "1 year" for radius in dataset.radii) or None,
        "Source": dataset.source,
        "Licence": dataset.licence,
        "Note": dataset.note,
    }
    return html.Section(
        [
            html.H2(
                [
                    dataset.title,
                    html.Code(dataset.dataset),
                    html.Span("simulated people", className="tag") if dataset.simulated else None,
                ]
            ),
            html.Dl([part for name, value in facts.items() if value for part in (html.Dt(name), html.Dd(value))]),
            html.P(
                [
                    page_link("Leaderboard", href=f"/?dataset={dataset.dataset}"),
                    page_link("Questions", href=f"/questions?dataset={dataset.dataset}"),
                ],
                className="links",
            ),
        ],
        className="panel dataset",
    )


def people(dataset: Dataset) -> str:
    """What people did with a dataset's questions, in a few words."""
    parts = []
    if dataset.human_teams:
        parts.append(f"{count(dataset.human_teams, 'human team')}, {count(dataset.human_buzzes, 'buzz', 'buzzes')}")
    if dataset.voted:
        parts.append(f"{count(dataset.votes, 'human vote')} on {count(dataset.voted, 'question')}")
    return "; ".join(parts) or "none: metrics that need people are missing"


VIEW = register(
    View(name="datasets", path="/datasets", title="Datasets", place=90, draw=draw, parameters=PageParameters, filters=())
)
