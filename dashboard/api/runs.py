"""Runs: where each came from, and what it said."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import no_keys, only_keys
from dashboard.api.responses import csv_response, file_response, json_response
from dashboard.service import service
from data.store.export import Form, export
from queries.runs import RunFacts, Runs, responses, run, runs


def _runs() -> Runs:
    return service().ask(runs, only_keys("dataset")["dataset"])


@api.get("/api/v1/runs")
def get_runs() -> Response:
    """Provenance of every run, of one dataset or of all."""
    return json_response(_runs())


@api.get("/api/v1/runs.csv")
def get_runs_csv() -> Response:
    """The same as CSV; what was skipped and decided stands there as JSON."""
    header = [field.name for field in msgspec.structs.fields(RunFacts)]
    rows = [
        [msgspec.json.encode(cell).decode() if isinstance(cell, dict | list) else cell for cell in msgspec.structs.astuple(one)]
        for one in _runs().runs
    ]
    return csv_response(header, rows, "runs")


@api.get("/api/v1/runs/<run_id>")
def get_run(run_id: str) -> Response:
    """Provenance of one run."""
    no_keys()
    return json_response(service().ask(run, run_id))


@api.get("/api/v1/runs/<run_id>/responses.csv", defaults={"form": "csv"})
@api.get("/api/v1/runs/<run_id>/responses.jsonl", defaults={"form": "jsonl"})
@api.get("/api/v1/runs/<run_id>/responses.parquet", defaults={"form": "parquet"})
def get_responses(run_id: str, form: Form) -> Response:
    """What a run said, as a file that can be imported again."""
    no_keys()
    facts = service().ask(run, run_id)
    table = responses(service().snapshot(), run_id, form)
    name = f"{facts.dataset}-{facts.model}-{facts.elicitation}"[:60]
    return file_response(export(service().store, table, form), form, f"{name}-{facts.run}")
