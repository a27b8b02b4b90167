"""Datasets: what each is, where it comes from, its prompts as files, and the file formats that can be imported."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
from dash import html
from dash.development.base_component import Component
from flask import Response

from dashboard.http.responses import csv_parts, jsonl_parts, stream_response
from dashboard.registry.addresses import get_selected
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.registry.tables import Table, fields
from dashboard.registry.views import serve
from dashboard.service import service
from dashboard.ui.frame import samples_last
from dashboard.ui.html import page_link
from dashboard.ui.section import heading, note, section
from dashboard.ui.table import PageColumn, html_table
from data.dataset_kinds import FORECAST
from data.plurals import counted
from data.readers import Format, formats
from queries.datasets import Dataset, Datasets, prompts
from queries.selection import Request
from queries.selection.view_parameters_base import NoParameters


def _datasets() -> Datasets:
    return Datasets(service().datasets())


DATASETS = serve(
    "datasets",
    _datasets,
    NoParameters,
    """Datasets with their counts (questions, runs, human teams and their buzzes, human votes and questions voted on),
        categories, licence and source.""",
    Table("The same as CSV.", lambda answer: answer.datasets, fields(Dataset)),
    selected=False,
)


@get_selected("/api/v1/datasets/<dataset>/prompts.csv", NoParameters)
def get_prompts_csv(query: Request[NoParameters], dataset: str) -> Response:
    """The prompts that a model has to answer: `question_id, clue, text` (the text revealed so far), and empty columns `guess` and
    `confidence` to fill in.
    """
    blank = (pl.lit(None, pl.String).alias("guess"), pl.lit(None, pl.Float64).alias("confidence"))
    frames = (frame.with_columns(blank) for frame in service().stream(prompts, query.selection))
    header = ("question_id", "clue", "text", "guess", "confidence")
    return stream_response(csv_parts(header, frames), "csv", f"{dataset}-prompts")


@get_selected("/api/v1/datasets/<dataset>/prompts.jsonl", NoParameters)
def get_prompts_jsonl(query: Request[NoParameters], dataset: str) -> Response:
    """The same as JSON Lines, without the empty columns."""
    return stream_response(jsonl_parts(service().stream(prompts, query.selection)), "jsonl", f"{dataset}-prompts")


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


def formats_section(formats: Sequence[Format]) -> html.Section:
    """Return the table under its heading."""
    columns = [
        PageColumn("Format", "key", html.Code),
        PageColumn("What it reads", "reads", _marked),
        PageColumn("How it is recognised", "recognised", _marked),
        PageColumn("What it becomes", "becomes", _marked),
    ]
    title = "Files that can be imported"
    words = [
        "A format is recognised by its content. Send a file on the page ",
        page_link("Upload", href="/upload"),
        ", or import it with ",
        html.Code("python -m dashboard import FILE"),
        ".",
    ]
    return section(title, note(words), html_table(columns, formats, title, "prose"))


def _marked(text: str) -> list[Component | str]:
    """The text, with the parts in backticks as code."""
    return [html.Code(part) if place % 2 else part for place, part in enumerate(re.split("`", text)) if part]


def draw(request: PageRequest[PageParameters]) -> Sequence[Component]:
    """Draw a card per dataset, and the table of formats."""
    return [
        heading("Datasets", "What each dataset holds, where it comes from, and which files can be imported"),
        html.Div([dataset_card(dataset) for dataset in samples_last(service().datasets())], className="cards"),
        formats_section(formats()),
    ]


PAGE = register(
    Page(
        name="datasets",
        path="/datasets",
        title="Datasets",
        place="Data",
        order=1,
        draw=draw,
        parameters=PageParameters,
        filters=(),
    )
)
