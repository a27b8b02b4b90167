"""Models: their runs on all datasets, and changes to what is one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from flask import Response

from dashboard.http.json_bodies import read_body
from dashboard.http.responses import json_response
from dashboard.registry.addresses import accept, pairs
from dashboard.registry.composed import model_across
from dashboard.registry.keys import AcrossParameters
from dashboard.registry.tables import Table, columns, fields
from dashboard.registry.views import serve
from dashboard.service import service
from data.store.models import BadModel, NoSuchModel, describe, merge, rename, split
from queries.across import AcrossCell
from queries.models import Model, model, models
from queries.selection import read_parameters
from queries.selection.parameter_kinds import BadRequest
from queries.selection.view_parameters_base import NoParameters

MODELS = serve(
    "models",
    models,
    NoParameters,
    "The models of all runs, with their names and facts, and models that are probably one because of their names.",
    Table("The models as CSV.", rows=lambda answer: answer.models, columns=fields(Model)),
    selected=False,
)
MODEL = serve(
    "models/<path:name>",
    model_across,
    AcrossParameters,
    """One model, which can be named by any of its names, and its runs on all datasets: a metric with interval and rank, and how
        over- or underconfident each is. Values are those of each dataset's leaderboard.""",
    Table(
        "The runs as CSV.",
        rows=lambda answer: [(run, run.cell) for run in answer.runs],
        columns=(*columns("dataset", "title", "model", "elicitation", at=0), *fields(AcrossCell, at=1)),
    ),
    selected=False,
)


class _Merge(msgspec.Struct, forbid_unknown_fields=True):
    models: list[str]
    into: str


class _Split(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _Rename(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    name: str


class _Describe(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    organisation: str | msgspec.UnsetType | None = msgspec.UNSET
    released: str | msgspec.UnsetType | None = msgspec.UNSET
    sizes: str | msgspec.UnsetType | None = msgspec.UNSET
    notes: str | msgspec.UnsetType | None = msgspec.UNSET


@accept("POST", "/api/v1/models/merge")
def post_merge() -> Response:
    """Make models one: `{"models": ["opus-5", "lab/opus-5"], "into": "opus-5"}`. `into` is the model that remains, or a new name.
    Run ids, and addresses that name runs or the names of files, do not change. Responds as `GET /api/v1/models` does.
    """
    by, body = _writer(), read_body(_Merge)
    with _refusals(body.models):
        merge(service().store, body.models, body.into, by)
    return _listed()


@accept("POST", "/api/v1/models/split")
def post_split() -> Response:
    """Make one of a model's names a model of its own again: `{"name": "lab/opus-5"}`. Responds as `GET /api/v1/models` does."""
    by, body = _writer(), read_body(_Split)
    with _refusals([body.name]):
        split(service().store, body.name, by)
    return _listed()


@accept("POST", "/api/v1/models/rename")
def post_rename() -> Response:
    """Call a model by another name: `{"model": "opus-5", "name": "Opus 5"}`. The names of its runs stay. Responds as
    `GET /api/v1/models` does.
    """
    by, body = _writer(), read_body(_Rename)
    with _refusals([body.model]):
        rename(service().store, body.model, body.name, by)
    return _listed()


@accept("POST", "/api/v1/models/describe")
def post_describe() -> Response:
    """Set facts about a model: `{"model", "organisation", "released", "sizes", "notes"}`. `released` is a year, a month or a day.
    A fact that is null or blank is removed, and one that is absent stays. Responds as `GET /api/v1/models` does.
    """
    by, body = _writer(), read_body(_Describe)
    facts = {key: value for key, value in msgspec.structs.asdict(body).items() if key != "model" and value is not msgspec.UNSET}
    with _refusals([body.model]):
        describe(service().store, body.model, facts, by)
    return _listed()


def _writer() -> str:
    by = service().access.writer()
    read_parameters(pairs(), NoParameters)
    return by


@contextmanager
def _refusals(names: Sequence[str]) -> Iterator[None]:
    """Answer 404 if the writer sees no run of a model, and 422 if a change cannot be made."""
    for name in names:
        service().ask(model, name)
    try:
        yield
    except NoSuchModel as error:
        raise BadRequest("unknown_model", f"{error}.", "model", status=404) from None
    except BadModel as error:
        raise BadRequest("bad_model", f"{str(error)[0].upper()}{str(error)[1:]}.", "model", status=422) from None


def _listed() -> Response:
    service().read_current()
    return json_response(service().ask(models))
