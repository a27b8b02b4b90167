"""The description of all addresses for programs: OpenAPI 3.1 at ``/api/v1/openapi.json``, made from their declarations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from flask import Response

from dashboard.http.responses import MIMETYPES, json_response
from dashboard.registry import addresses
from dashboard.registry.addresses import PART, Route, get
from dashboard.settings import VERSION
from queries.selection import Selection
from queries.selection.parameter_kinds import Kind
from queries.selection.view_parameters_base import NoParameters, declared_fields, key_form

Schema = dict[str, Any]
ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field", "allowed", "rows"],
            "properties": {
                "code": {"type": "string", "description": "for programs"},
                "message": {"type": "string", "description": "for people"},
                "field": {"type": ["string", "null"], "description": "the wrong key"},
                "allowed": {"type": "array", "items": {"type": "string"}, "description": "the values that it can have"},
                "rows": {"type": "array", "items": {"type": "object"}, "description": "what is wrong with rows of a file"},
            },
        }
    },
}
FORMS: dict[str, str] = {"html": "text/html", **{str(form): media for form, media in MIMETYPES.items()}}
PINS = "pins the data"


@get("/api/v1/openapi.json", NoParameters)
def openapi(_: NoParameters) -> Response:
    """All addresses for programs, as OpenAPI 3.1: keys with their values, the shape of each answer, and errors."""
    return json_response(describe())


@cache
def describe() -> Schema:
    """Return the OpenAPI document."""
    answers = [route.answer for route in addresses.ROUTES if route.answer is not None]
    schemas, components = msgspec.json.schema_components(answers, ref_template="#/components/schemas/{name}")
    shapes = dict(zip(answers, schemas, strict=True))
    paths: dict[str, Schema] = {}
    for route in addresses.ROUTES:
        method, _, path = route.address.partition(" ")
        paths.setdefault(PART.sub(r"{\1}", path), {})[method.lower()] = _operation(route, shapes)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Clueline", "version": VERSION, "description": "How well language models know what they know."},
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, shapes: Mapping[type, Schema]) -> Schema:
    method, _, path = route.address.partition(" ")
    required = {field.name for field in declared_fields(route.takes) if field.required}
    keys = (Selection.kinds() if route.selection else {}) | route.takes.kinds()
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in PART.findall(path)]
    parameters += [_parameter(key, kind, key in required) for key, kind in keys.items() if f"<{key}>" not in path]
    if route.selection:
        parameters.append(
            {"name": addresses.VERSION, "in": "query", "schema": {"type": "string"}, "description": "pins the data"}
        )
    text = " ".join(route.gives.split())
    media = next((kind for form, kind in FORMS.items() if path.endswith(f".{form}")), "application/json")
    content: Schema = {media: {"schema": shapes[route.answer] if route.answer else {}} if media == "application/json" else {}}
    return {
        "summary": text.partition(". ")[0].removesuffix("."),
        "description": text,
        "operationId": re.sub(r"\W+", "_", f"{method.lower()} {path.removeprefix('/api/v1/')}").strip("_"),
        "parameters": parameters,
        "responses": {
            "200": {"description": "the answer", "content": content},
            "default": {
                "description": "refused",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }


def _parameter(key: str, kind: Kind[Any], required: bool) -> Schema:
    schema = kind.schema()
    if kind.repeatable:
        schema = {"type": "array", "items": schema}
    name = key_form(key, kind)
    return {"name": name, "in": "query", "required": required, "description": kind.about, "schema": schema}
