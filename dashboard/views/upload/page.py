"""Upload: what the browser needs to send a file (``assets/upload.js`` does the rest), and the questions to answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.html import data, page_link
from dashboard.ui.messages import prompts
from data.importing.report import Hint
from data.readers import formats
from queries.metrics import METRICS

PATH = "/upload"
OFF = (
    "This server accepts no uploads (CLUELINE_UPLOADS=off). Its operator imports files with `python -m dashboard import`, "
    "or starts it with CLUELINE_UPLOADS=token."
)
# How to fix a bad row, in the words of the form.
HINTS: dict[Hint, str] = {
    "classes": "name them under Classes, separated by commas",
    "column": "rename the column, or let the operator of this server import the file on the command line",
    "dataset": "choose it under Dataset",
    "dataset_upload": "this form also accepts it",
    "format": "choose it under Format",
    "model": "name it under Model",
    "one_run": "for one run of all questions, upload all of its files in one zip; the page Runs withdraws a run, and another "
    "name under Model or Elicitation distinguishes it",
    "password": "unpack it before you upload it",
    "percent": "if the file states percentages, choose that under Confidence runs from",
    "replace": "the operator of this server can replace it on the command line",
    "unit": "choose 0 to 1 under Confidence runs from",
    "words": "write numbers, or let the operator of this server import the file on the command line",
    "replace_people": "the operator of this server can replace them on the command line",
}


def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """Draw the place where the form is built, and links to the questions to answer."""
    access, datasets = service().access, service().datasets()
    form = {
        "chosen": request.selection.dataset,
        "datasets": [[dataset.dataset, dataset.title] for dataset in datasets],
        "metrics": [[metric.key, metric.name] for metric in METRICS],
        "formats": [format_.key for format_ in formats()],
        "most": service().settings.max_upload_mb,
        "hints": HINTS,
    }
    return [
        html.Div(
            [html.H1("Upload"), html.Span("Runs and datasets, checked before anything is stored", className="lead")],
            className="heading",
        ),
        html.Div(html.P(OFF), className="panel")
        if access.mode == "off"
        else html.Div(
            [
                html.Div(className="api-token", **data(mode=access.page_mode())),
                html.Div(id="upload", **data(form=json.dumps(form))),
            ]
        ),
        html.Section(
            [
                html.H2("The questions"),
                html.P(
                    "One row per question and clue, with the text revealed so far. The CSV has empty columns guess and "
                    "confidence: fill them in and upload the file as it is.",
                    className="note",
                ),
                html.Ul([html.Li([f"{dataset.title}: ", *prompts(dataset.dataset)]) for dataset in datasets]),
                html.P(page_link("Published runs", href=request.link("/runs")), className="note"),
            ],
            className="section",
        ),
    ]


PAGE = register(Page(name="upload", path=PATH, title="Upload", place=85, draw=draw, parameters=PageParameters, filters=()))
