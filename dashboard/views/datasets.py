"""Datasets: what each is, where it comes from, its prompts as files, and the file formats that can be imported."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import polars as pl
from dash import html
from dash.development.base_component import Component
from flask import Response

from clueline.dashboard.http.bodies import csv_parts, json_response, jsonl_parts, read_body, stream_response
from clueline.dashboard.registry.addresses import accept, get, writer
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, fields
from clueline.dashboard.registry.views import serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import change_button, change_message
from clueline.dashboard.ui.frame import samples_last
from clueline.dashboard.ui.html import facts, folded, heading, note, page_link, section
from clueline.dashboard.ui.table import PageColumn, html_table
from clueline.data.dataset_kinds import FORECAST
from clueline.data.importing.seed import SAMPLES, SamplesInUse, remove_samples, restore_samples
from clueline.data.plurals import counted
from clueline.data.readers import Format, formats
from clueline.queries.datasets import Dataset, Datasets, prompts
from clueline.queries.selection import Request
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import NoParameters


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


@accept("POST", "/api/v1/samples")
def post_samples() -> Response:
    """Remove the bundled datasets, `{"stored": false}`, or import them again, `{"stored": true}`. 409 if somebody has added runs
    to them. Responds as `GET /api/v1/datasets` does.
    """
    by = writer()
    try:
        (restore_samples if read_body(_Samples).stored else remove_samples)(service().store, by)
    except SamplesInUse as error:
        message = f"Somebody has added runs to {error}; nothing was removed."
        raise BadRequest("samples_in_use", message, status=409) from None
    service().read_current()
    return json_response(_datasets())


class _Samples(msgspec.Struct, forbid_unknown_fields=True):
    stored: bool


@get("/api/v1/datasets/<dataset>/prompts.csv", NoParameters, selection=True)
def get_prompts_csv(query: Request[NoParameters], dataset: str) -> Response:
    """The prompts that a model has to answer: `question_id, clue, text` (the text revealed so far), and empty columns `guess` and
    `confidence` to fill in.
    """
    blank = (pl.lit(None, pl.String).alias("guess"), pl.lit(None, pl.Float64).alias("confidence"))
    frames = (frame.with_columns(blank) for frame in service().stream(prompts, query.selection))
    header = ("question_id", "clue", "text", "guess", "confidence")
    return stream_response(csv_parts(header, frames), "csv", f"{dataset}-prompts")


@get("/api/v1/datasets/<dataset>/prompts.jsonl", NoParameters, selection=True)
def get_prompts_jsonl(query: Request[NoParameters], dataset: str) -> Response:
    """The same as JSON Lines, without the empty columns."""
    return stream_response(jsonl_parts(service().stream(prompts, query.selection)), "jsonl", f"{dataset}-prompts")


KINDS = {
    "incremental": "questions revealed clue by clue", "single": "single-shot questions",
    "lifeeval": "lifespans, scored by the life table", "votes": "items with human votes",
    FORECAST: "forecasts: a probability of yes, and what came true",
}  # fmt: skip
LINKS = {"Leaderboard": "/", "Questions": "/questions"}  # of a dataset


def dataset_card(dataset: Dataset) -> html.Section:
    """Return the card, with links to pages of the dataset."""
    stated = {
        "Kind": KINDS.get(dataset.kind, dataset.kind),
        "Holds": f"{counted(dataset.questions, 'question')}, {counted(dataset.runs, 'run')}",
        "People": _people(dataset),
        "Categories": ", ".join(dataset.categories) or None,
        "Question attributes": ", ".join(dataset.attributes) or None,
        "Response attributes": ", ".join(dataset.response_attributes) or None,
        "Radii": ", ".join(f"{radius} years" if radius > 1 else "1 year" for radius in dataset.radii) or None,
        "Source": dataset.source,
        "Licence": dataset.licence,
    }
    simulated = html.Span("simulated people", className="tag") if dataset.simulated else None
    links = [page_link(title, href=f"{path}?dataset={dataset.dataset}") for title, path in LINKS.items()]
    return section(
        html.H2([dataset.title, html.Code(dataset.dataset), simulated]),
        facts(stated),
        folded("How these data were made", html.P(dataset.note)) if dataset.note else None,
        html.P(links, className="links"),
        class_name="panel dataset",
    )


def _people(dataset: Dataset) -> str | None:
    """The human data of a dataset, in a few words; None if there are none."""
    parts = []
    if dataset.human_teams:
        parts.append(f"{counted(dataset.human_teams, 'human team')}, {counted(dataset.human_buzzes, 'buzz', 'buzzes')}")
    if dataset.voted:
        parts.append(f"{counted(dataset.votes, 'human vote')} on {counted(dataset.voted, 'question')}")
    return "; ".join(parts) or None


def formats_section(formats: Sequence[Format]) -> html.Section:
    """Return the table under its heading."""
    columns = [
        PageColumn("Format", "key", html.Code),
        PageColumn("What it reads", "reads", _marked),
        PageColumn("How it is recognised", "recognised", _marked),
        PageColumn("What it becomes", "becomes", _marked),
    ]
    title = "Files that can be imported"
    upload, command = page_link("Upload", href="/upload"), html.Code("clueline import FILE")
    words = ["A format is recognised by its content. Send a file on the page ", upload, ", or import it with ", command, "."]
    return section(title, note(words), html_table(columns, formats, title, "prose"))


def _marked(text: str) -> list[Component | str]:
    """The text, with the parts in backticks as code."""
    return [html.Code(part) if place % 2 else part for place, part in enumerate(re.split("`", text)) if part]


def _samples() -> html.P | None:
    """A button that removes the bundled datasets or imports them again, beside others; None if nobody may."""
    stored = [dataset.dataset for dataset in service().datasets()]
    if service().access.page_mode() == "off":
        return None
    add = SAMPLES.isdisjoint(stored)
    verb, done = ("Add", "added") if add else ("Remove", "removed")
    words = (f"{verb} sample datasets", "POST /api/v1/samples", f"The sample datasets were {done}.")
    return html.P(change_button(*words, body={"stored": add}), className="links")


@page("/datasets", "Datasets", PageParameters, place="Data", order=1, needs_dataset=False)
def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """Draw a card per dataset, and the table of formats."""
    return [
        heading("Datasets", "What each dataset holds, where it comes from, and which files can be imported"),
        *change_message(),
        _samples(),
        html.Div([dataset_card(dataset) for dataset in samples_last(service().datasets())], className="cards"),
        formats_section(formats()),
    ]
