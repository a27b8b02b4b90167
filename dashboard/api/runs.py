"""Runs: their provenance and responses."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get
from dashboard.api.http_responses import csv_response, file_response, json_response
from dashboard.service import service
from data.store.query_to_file import Form
from queries.runs import RunFacts, Runs, responses, run, runs
from queries.selection.parameter_kinds import Text
from queries.selection.view_parameters_base import NoParameters, Parameters


class RunsParameters(Parameters, frozen=True):
    """Which dataset's runs are listed."""

    dataset: Annotated[str | None, Text("runs on this dataset; by default on every dataset")] = None


def _runs(parameters: RunsParameters) -> Runs:
    return service().ask(runs, parameters.dataset)


@get("/api/v1/runs", RunsParameters)
def get_runs(parameters: RunsParameters) -> Response:
    """Where each run comes from: who imported it and when (UTC), the file and its SHA-256, what the run did not answer, guesses
    that its uploader graded, and whether, when and by whom it was withdrawn.
    """
    return json_response(_runs(parameters))


@get("/api/v1/runs.csv", RunsParameters)
def get_runs_csv(parameters: RunsParameters) -> Response:
    """The same as CSV. Skipped items and the uploader's grades are JSON in their cells."""
    header = [field.name for field in msgspec.structs.fields(RunFacts)]
    rows = [
        [msgspec.json.encode(cell).decode() if isinstance(cell, dict | list) else cell for cell in msgspec.structs.astuple(row)]
        for row in _runs(parameters).runs
    ]
    return csv_response(header, rows, "runs")


@get("/api/v1/runs/<run_id>", NoParameters)
def get_run(parameters: NoParameters, run_id: str) -> Response:
    """The same for one run."""
    return json_response(service().ask(run, run_id))


@get("/api/v1/runs/<run_id>/responses.csv", NoParameters, defaults={"form": "csv"})
@get("/api/v1/runs/<run_id>/responses.jsonl", NoParameters, defaults={"form": "jsonl"})
@get("/api/v1/runs/<run_id>/responses.parquet", NoParameters, defaults={"form": "parquet"})
def get_responses(parameters: NoParameters, run_id: str, form: Form) -> Response:
    """The responses of a run, by question id and clue. Importing the file again gives the same run."""
    facts = service().ask(run, run_id)
    table = responses(service().snapshot(), run_id, form)
    name = f"{facts.dataset}-{facts.model}-{facts.elicitation}"[:60]
    return file_response(service().export(table, form), form, f"{name}-{facts.run}")
