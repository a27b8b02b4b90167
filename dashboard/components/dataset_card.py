"""A dataset as a card: what it holds, where it comes from, and its licence."""

from __future__ import annotations

from dash import html

from dashboard.components.links import page_link
from data.dataset_kinds import FORECAST
from data.plurals import counted
from queries.datasets import Dataset

KINDS = {
    "incremental": "questions revealed clue by clue", "single": "single-shot questions",
    "lifeeval": "lifespans, scored by the life table", "votes": "items with human votes",
    FORECAST: "forecasts: a probability of yes, and what came true",
}  # fmt: skip


def dataset_card(dataset: Dataset) -> html.Section:
    """Return the card, with links to pages of the dataset."""
    facts = {
        "Kind": KINDS.get(dataset.kind, dataset.kind),
        "Holds": f"{counted(dataset.questions, 'question')}, {counted(dataset.runs, 'run')}",
        "People": _people(dataset),
        "Categories": ", ".join(dataset.categories) or None,
        "Question attributes": ", ".join(dataset.attributes) or None,
        "Response attributes": ", ".join(dataset.response_attributes) or None,
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


def _people(dataset: Dataset) -> str:
    """The human data of a dataset, in a few words."""
    parts = []
    if dataset.human_teams:
        parts.append(f"{counted(dataset.human_teams, 'human team')}, {counted(dataset.human_buzzes, 'buzz', 'buzzes')}")
    if dataset.voted:
        parts.append(f"{counted(dataset.votes, 'human vote')} on {counted(dataset.voted, 'question')}")
    return "; ".join(parts) or "none: metrics that need people are missing"
