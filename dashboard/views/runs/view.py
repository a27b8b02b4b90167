"""Runs: where they come from, and their responses as files."""

from __future__ import annotations

from typing import Annotated

from flask import Response

from dashboard.registry.addresses import get
from dashboard.registry.responses import file_response
from dashboard.registry.tables import Table, fields, with_json
from dashboard.registry.views import View, register
from dashboard.service import service
from data.store.query_to_file import Form
from queries.runs import RunFacts, responses, run, runs
from queries.selection.parameter_kinds import Text
from queries.selection.view_parameters_base import NoParameters, Parameters


class RunsKeys(Parameters, frozen=True):
    """Which dataset's runs are listed."""

    dataset: Annotated[str | None, Text("runs on this dataset; by default on every dataset")] = None


RUNS = register(
    View(
        "runs",
        runs,
        RunsKeys,
        """Where each run comes from: who imported it and when (UTC), the file and its SHA-256, what the run did not answer,
        guesses that its uploader graded, and whether, when and by whom it was withdrawn.""",
        (
            Table(
                "The same as CSV. Skipped items and the uploader's grades are JSON in their cells.",
                rows=lambda answer: answer.runs,
                columns=with_json(fields(RunFacts)),
            ),
        ),
        selected=False,
    )
)
register(View("runs/<run_id>", run, NoParameters, "The same for one run.", selected=False))


@get("/api/v1/runs/<run_id>/responses.csv", NoParameters, defaults={"form": "csv"})
@get("/api/v1/runs/<run_id>/responses.jsonl", NoParameters, defaults={"form": "jsonl"})
@get("/api/v1/runs/<run_id>/responses.parquet", NoParameters, defaults={"form": "parquet"})
def get_responses(parameters: NoParameters, run_id: str, form: Form) -> Response:
    """The responses of a run, by question id and clue. Importing the file again gives the same run."""
    facts = service().ask(run, run_id)
    table = responses(service().snapshot(), run_id, form)
    name = f"{facts.dataset}-{facts.model}-{facts.elicitation}"[:60]
    return file_response(service().export(table, form), form, f"{name}-{facts.run}")
