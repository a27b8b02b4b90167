"""Mappings of columns that people keep: who sends a request lists and removes those that they see."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from flask import Response

from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.http.bodies import json_response
from clueline.dashboard.registry.addresses import accept, get, pairs, sentence
from clueline.dashboard.service import service
from clueline.data.store.audit import Audit
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import (
    KeepingError,
    NoSuchMapping,
    find_entry,
    list_mappings,
    read_mapping_of,
    remove_mapping,
)
from clueline.data.store.scopes import DATASET, STORE, Viewer, may_change, of_owner
from clueline.queries.selection import read_parameters
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import NoParameters


class ListedMapping(msgspec.Struct):
    """A mapping by the name that stands for it as the key ``mapping``. A damaged one has no ``toml``; its owner is unknown."""

    name: str
    owner: str | None
    published: bool
    dataset: str | None
    toml: str | None


class ListedMappings(msgspec.Struct):
    """The mappings that somebody may name."""

    mappings: list[ListedMapping]


@get("/api/v1/mappings", NoParameters, right="upload", answers=ListedMappings)
def get_mappings(parameters: NoParameters) -> Response:
    """The mappings of columns that `POST /api/v1/runs` takes as `mapping` from who asks: their own, the published ones, and those
    of datasets that they may read. Needs the same rights as an upload.
    """
    files, listed = service().store.files, []
    for entry in list_mappings(files, mapping_viewer()):
        kept = None
        with suppress(DamagedThing, NoSuchMapping):
            kept = read_mapping_of(files, entry.file)
        owner, toml = (kept.by, kept.toml) if kept else (None, None)
        dataset = entry.scope.removeprefix(DATASET) if entry.scope.startswith(DATASET) else None
        listed.append(ListedMapping(entry.shown, owner, entry.scope == STORE, dataset, toml))
    return json_response(ListedMappings(listed))


@accept("DELETE", "/api/v1/mappings/<path:name>")
def delete_mapping(name: str) -> Response:
    """Remove a mapping of one's own, also a damaged one. Published ones, and those of a dataset, need the right `admin`. Runs
    that were read by it stay as they are. Needs the same rights as an upload. Responds with the mappings that are left.
    """
    viewer, store = mapping_viewer(), service().store
    read_parameters(pairs(), NoParameters)
    try:
        entry = find_entry(store.files, name, viewer)
    except NoSuchMapping as error:
        raise BadRequest("unknown_value", sentence(error), "name", status=404) from None
    except KeepingError as error:
        raise BadRequest("bad_value", sentence(error), "name") from None
    if not may_change(viewer, entry.scope or of_owner(viewer.name)):
        raise RequestDenied(403, "missing_right", f"Only an administrator removes the mapping {name!r}, which others may use.")
    if entry.scope:
        dataset = entry.scope.removeprefix(DATASET) if entry.scope.startswith(DATASET) else None
        Audit(store.register).record("removed_mapping", viewer.name, names=entry.name, dataset=dataset)
    remove_mapping(store.files, entry)
    return get_mappings(NoParameters())


def mapping_viewer() -> Viewer:
    """Return who sends this request, as mappings are seen. Raises as ``Access.writer``."""
    access = service().access
    by, reader = access.writer(), access.reader()
    return Viewer(reader.name or by, admin=reader.has("admin"), hidden=access.hidden_names())
