"""Who can read the private datasets."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import api, document, get, pairs
from dashboard.api.http_responses import json_response
from dashboard.service import service
from data.store import StoreError
from data.store.tokens_and_readers import TokenError
from queries.selection import read_parameters
from queries.selection.parameter_kinds import BadRequest, Texts
from queries.selection.view_parameters_base import NoParameters, Parameters


class ReadersParameters(Parameters, frozen=True):
    """Who can read a private dataset."""

    reader: Annotated[
        tuple[str, ...],
        Texts("name of a token, or `user:NAME` for a user of a trusted proxy; without it, only tokens with the right `admin`"),
    ] = ()


class Readers(msgspec.Struct):
    """Whether a dataset is private, and who can read it in addition to tokens with the right ``admin``."""

    dataset: str
    private: bool
    readers: list[str]


@get("/api/v1/datasets/<dataset>/readers", NoParameters, right="admin")
def get_readers(parameters: NoParameters, dataset: str) -> Response:
    """Whether a dataset is private, and who can read it. Needs a token with the right `admin`."""
    return _readers(dataset)


@api.put("/api/v1/datasets/<dataset>/readers")
def put_readers(dataset: str) -> Response:
    """Make a dataset private: it then exists only for these readers and for tokens with the right `admin`. The dataset can be one
    that is not uploaded yet. Needs a token with the right `admin`.
    """
    by = service().access.admin()
    readers = read_parameters(pairs(), ReadersParameters).reader
    try:
        service().access.tokens.make_private(dataset, readers, by)
    except TokenError as error:
        if isinstance(error.__cause__, (OSError, StoreError)):
            raise StoreError(str(error)) from error
        raise BadRequest("unknown_value", f"{str(error)[0].upper()}{str(error)[1:]}.", "reader") from None
    return _readers(dataset)


@api.delete("/api/v1/datasets/<dataset>/readers")
def delete_readers(dataset: str) -> Response:
    """Make a dataset public: everybody who may read this server can read it. Needs a token with the right `admin`."""
    by = service().access.admin()
    read_parameters(pairs(), NoParameters)
    try:
        service().access.tokens.make_public(dataset, by)
    except TokenError as error:
        raise StoreError(str(error)) from error
    return _readers(dataset)


def _readers(dataset: str) -> Response:
    try:
        private = service().access.tokens.record().private
    except TokenError as error:
        raise StoreError(str(error)) from error
    return json_response(Readers(dataset, dataset in private, list(private.get(dataset, ()))))


document("PUT /api/v1/datasets/<dataset>/readers", put_readers, ReadersParameters)
document("DELETE /api/v1/datasets/<dataset>/readers", delete_readers, NoParameters)
