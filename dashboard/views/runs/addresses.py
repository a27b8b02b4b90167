"""Addresses that withdraw and restore runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Response

from dashboard.registry.addresses import api, document, pairs
from dashboard.registry.responses import json_response
from dashboard.service import service
from data.store.run_withdrawal import CannotRestore, NoSuchRun, restore, withdraw
from queries.runs import run
from queries.selection import read_parameters
from queries.selection.parameter_kinds import BadRequest
from queries.selection.view_parameters_base import NoParameters


@api.delete("/api/v1/runs/<run_id>")
def delete_run(run_id: str) -> Response:
    """Withdraw a run: it disappears from every list and page that does not name it, but is not erased. Responds as `GET` does."""
    by = service().access.writer()
    _refuse_keys()
    with no_such_run(run_id):
        withdraw(service().store, run_id, by)
    service().read_current()
    return json_response(service().ask(run, run_id))


@api.post("/api/v1/runs/<run_id>/restore")
def restore_run(run_id: str) -> Response:
    """Restore a withdrawn run. 409 if the questions that it answered were replaced."""
    by = service().access.writer()
    _refuse_keys()
    with no_such_run(run_id):
        restore(service().store, run_id, by)
    service().read_current()
    return json_response(service().ask(run, run_id))


@contextmanager
def no_such_run(run_id: str) -> Iterator[None]:
    """Answer 404 if a change names an unknown run, and 409 if the run cannot be restored."""
    try:
        service().ask(run, run_id)  # also 404 for a run on a dataset that the reader may not read
        yield
    except NoSuchRun:
        raise BadRequest("unknown_run", f"There is no run {run_id!r}; /api/v1/runs lists them.", "run", status=404) from None
    except CannotRestore as error:
        raise BadRequest("cannot_restore", f"Run {run_id!r} cannot be restored: {error}.", "run", status=409) from None


def _refuse_keys() -> None:
    read_parameters(pairs(), NoParameters)


document("DELETE /api/v1/runs/<run_id>", delete_run, NoParameters)
document("POST /api/v1/runs/<run_id>/restore", restore_run, NoParameters)
