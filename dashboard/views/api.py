"""What programs ask about the server: whether it is ready, its addresses (OpenAPI 3.1; a list for people), stored selections."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
from flask import Response, redirect, request
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape
from werkzeug.datastructures import MultiDict

from clueline.dashboard.http.bodies import MIMETYPES, error_response, json_response
from clueline.dashboard.http.paths import SELECTION, address
from clueline.dashboard.registry import addresses
from clueline.dashboard.registry.addresses import PART, Route, accept, get, pairs
from clueline.dashboard.registry.composed import question_order
from clueline.dashboard.registry.views import filled_path
from clueline.dashboard.service import service
from clueline.dashboard.settings import VERSION
from clueline.dashboard.ui.plain_page import plain_page
from clueline.data.store import DamagedStore
from clueline.queries.selection import Selection, read_parameters, selection_keys
from clueline.queries.selection.parameter_kinds import BadRequest, Kind
from clueline.queries.selection.view_parameters_base import NoParameters, declared_fields, key_form

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
MAX_QUERY = 100_000  # characters of a stored selection: some 4,000 runs
REGISTER_AGE = 10.0  # seconds; data is still served after this, but other hosts may have a newer version

log = logging.getLogger(__name__)


@accept("GET", "/healthz")
def healthz() -> Response:
    """Whether the server is alive, with the version of Clueline."""
    return json_response({"status": "ok", "version": VERSION})


@accept("GET", "/readyz")
def readyz() -> Response:
    """Whether the store can be read, with its data version. 503 with `draining` while the server is shutting down, with
    `register_away` if the store's PostgreSQL server has not been reached for 10 s, and with `store_unavailable` if a file of the
    current version is missing or corrupted.
    """
    if service().draining:
        return error_response("draining", "This server is shutting down.", 503)
    age = service().store.register.age()
    if age > REGISTER_AGE:
        return error_response("register_away", f"The register of the store was last reached {age:.0f} s ago.", 503)
    snapshot = service().store.snapshot()  # rights are not checked, because none of its contents are in the response
    snapshot.rows("select count(*) from datasets")
    if age == 0:
        service().store.check_catalogue()
    damage = service().version_check.damage(snapshot)
    if damage is not None:
        log.error("%s", damage)
        raise DamagedStore("a file of the current version is missing or corrupted")  # file names contain dataset names
    return json_response({"status": "ready", "data_version": snapshot.version})


class StoredSelection(msgspec.Struct):
    """Answer of ``/api/v1/selections``: the id of a stored selection, and its keys."""

    selection: str
    dataset: str
    keys: dict[str, list[str]]


@accept("POST", "/api/v1/selections")
def post_selection() -> Response:
    """Store a selection, for addresses that would be too long. The body is a query string with keys of the selection. Responds
    with its id (201, or 200 if it was there), which every address of a selection takes as `selection`.
    """
    service().access.check_same_site()
    read_parameters(pairs(), NoParameters)
    body = request.get_data()
    if len(body) > MAX_QUERY:
        raise BadRequest("too_large", f"A stored selection has at most {MAX_QUERY:,} characters.", status=413)
    try:
        query = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")
    except (UnicodeError, ValueError) as error:
        raise BadRequest("bad_value", f"The body is not a query string: {error}.") from None
    selection = service().read(query, NoParameters).selection
    identity, new = service().keep_selection(selection.pairs())
    return json_response(StoredSelection(identity, selection.dataset, selection_keys(selection)), 201 if new else 200)


@accept("GET", "/api/v1/selections/<selection_id>")
def get_selection(selection_id: str) -> Response:
    """The keys of a stored selection. Needs the right to read its dataset."""
    read_parameters(pairs(), NoParameters)
    try:
        stored = service().stored_selection(selection_id)
    except BadRequest as error:
        raise BadRequest(error.code, error.message, error.field, status=404) from None
    keys = MultiDict(stored).to_dict(flat=False)
    return json_response(StoredSelection(selection_id, keys["dataset"][0], keys))


@get("/api/v1/openapi.json", NoParameters)
def openapi(_: NoParameters) -> Response:
    """All addresses for programs, as OpenAPI 3.1: keys with their values, the shape of each answer, and errors."""
    return json_response(describe(*_values_of_the_first_dataset()))


def _values_of_the_first_dataset() -> Iterator[tuple[str, str]]:
    """Yield keys and parts of paths, each with a value of the first dataset that the reader may read, if it has one."""
    if not service().snapshot().states:
        return
    facets = service().facets(None)
    runs, questions = facets.all_runs, question_order(Selection(facets.dataset), "").questions
    listed = {"run": runs, "run_id": runs, "a": runs, "b": runs[1:], "name": facets.texts("model"), "question_id": questions}
    listed |= {"dataset": [facets.dataset], "view": [address("/", [("dataset", facets.dataset)])]}
    for key, values in {**facets.values, **listed}.items():
        yield from [(key, str(value)) for value in values[:1]]


@lru_cache(16)
def describe(*examples: tuple[str, str]) -> Schema:
    """Return the OpenAPI document. ``examples`` are keys and parts of paths, each with a value."""
    answers = [route.answer for route in addresses.ROUTES if route.answer is not None]
    schemas, components = msgspec.json.schema_components(answers, ref_template="#/components/schemas/{name}")
    shapes = dict(zip(answers, map(_without_closed_tuples, schemas), strict=True))
    paths: dict[str, Schema] = {}
    for route in addresses.ROUTES:
        method, _, path = route.address.partition(" ")
        paths.setdefault(PART.sub(r"{\1}", path), {})[method.lower()] = _operation(route, shapes, dict(examples))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Clueline", "version": VERSION, "description": "How well language models know what they know."},
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**_without_closed_tuples(components), "Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _without_closed_tuples(schema: Any) -> Any:
    """Return a schema without ``items: false``, which generators of clients refuse. ``maxItems`` says the same of a tuple."""
    if isinstance(schema, dict):
        return {key: _without_closed_tuples(part) for key, part in schema.items() if (key, part) != ("items", False)}
    return [_without_closed_tuples(part) for part in schema] if isinstance(schema, list) else schema


def _operation(route: Route, shapes: Mapping[type, Schema], examples: Mapping[str, str]) -> Schema:
    method, _, path = route.address.partition(" ")
    required = {field.name for field in declared_fields(route.takes) if field.required}
    keys = (Selection.kinds() if route.selection else {}) | route.takes.kinds()
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in PART.findall(path)]
    own = [_parameter(key, kind, key in required) for key, kind in keys.items() if key not in PART.findall(path)]
    parameters += own
    if route.selection:
        more = {addresses.VERSION: "pins the data", SELECTION: "the id of a stored selection, whose keys it stands for"}
        parameters += [
            {"name": name, "in": "query", "schema": {"type": "string"}, "description": about} for name, about in more.items()
        ]
    for one in parameters:
        if (value := examples.get(one["name"])) and "enum" not in one["schema"]:
            one["example"] = [value] if one["schema"]["type"] == "array" else value
    text = " ".join(route.gives.split())
    media = next((kind for form, kind in FORMS.items() if route.page or path.endswith(f".{form}")), "application/json")
    refusal: Schema = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    content: Schema = {media: {"schema": shapes[route.answer] if route.answer else {}} if media == "application/json" else {}}
    named = [one["name"] for one in own if one["required"] or one["name"] in ("dataset", "view")]
    if route.view and examples.keys() >= {*named, *PART.findall(path)}:
        sample = address(filled_path(path, examples, quoted=True), [(name, examples[name]) for name in named])
        content[media]["examples"] = {"sample": {"externalValue": sample}}
    return {
        "summary": text.partition(". ")[0].removesuffix("."),
        "description": text,
        "operationId": re.sub(r"\W+", "_", f"{method.lower()} {path.removeprefix('/api/v1/')}").strip("_"),
        "parameters": parameters,
        "responses": {
            "200": {"description": "the answer", "content": content},
            "default": {"description": "refused", "content": content if route.page else refusal},
        },
    }


def _parameter(key: str, kind: Kind[Any], required: bool) -> Schema:
    schema = {"type": "array", "items": kind.schema()} if kind.repeatable else kind.schema()
    return {"name": key_form(key, kind), "in": "query", "required": required, "description": kind.about, "schema": schema}


TEMPLATE, MORE = "address", "more"  # fields of the forms: the path with its variable parts, and further keys as a query string
PAGE = """{% block top %}<a href="#main" class="skip">Skip to content</a>
{{ super() }}{% endblock %}{% block main -%}
<main id="main" class="documents addresses">
<nav aria-label="Addresses"><ul>
{% for name in groups %}<li><a href="#{{ name }}">{{ name }}</a></li>
{% endfor %}</ul></nav>
<article><h1>Addresses for programs</h1>
<p>What a page shows, a program gets as JSON or CSV. This list is made from <a href="/api/v1/openapi.json">the description of all
addresses</a> (OpenAPI 3.1). <a href="/docs/docs/api">The documentation</a> says what the keys mean together, and
<a href="/docs/docs/client">the Python client</a> returns data frames.</p>
<details id="keys-of-the-selection"><summary>Keys of the selection: addresses of a selection take these, too</summary>
{{ keys(selection) }}</details>
{% for name, listed in groups.items() %}<h2 id="{{ name }}">{{ name }}</h2>
{% for one in listed %}<details id="{{ one.id }}">
<summary><code>{{ one.method }} {{ one.path }}</code> {{ words(one.summary) }}</summary>
<p>{{ words(one.description) }}</p>
{% if one.method == "GET" %}<form action="/api"><input type="hidden" name="address" value="{{ one.path }}">
{% endif %}{{ keys(one.parameters, one.method == "GET") }}
{% if one.method == "GET" %}{% if one.selected %}<label>Keys of the selection, as a query string
<input class="text" name="more" placeholder="dataset=pyramid&amp;category=Science"></label>
{% endif %}<button class="quiet">Try it</button></form>
{% else %}<p>This changes something, so it is not tried here. Most changes need a token.</p>
{% endif %}</details>
{% endfor %}{% endfor %}</article>
</main>
{%- endblock %}"""
KEYS = """{% macro keys(parameters, form=False) %}{% if parameters %}<table><tbody>
{% for one in parameters %}<tr><td><code>{{ one.name }}</code>{% if one.required %} (needed){% endif %}</td>
<td>{{ words(one.description or "a part of the path") }}</td>
{% if form %}<td>{% set values = (one.schema.get("items") or one.schema).get("enum") %}
{% if values %}<select name="{{ one.name }}" aria-label="{{ one.name }}"><option></option>
{% for value in values if value %}<option>{{ value }}</option>{% endfor %}</select>
{% else %}<input class="text" name="{{ one.name }}" aria-label="{{ one.name }}" {{ "required" if one.required }}>{% endif %}</td>
{% endif %}</tr>
{% endfor %}</tbody></table>{% endif %}{% endmacro %}"""


def show_addresses() -> ResponseReturnValue:
    """Return the list of addresses as a page, or send a form of it to the address that it tries."""
    described = describe()
    given = [pair for pair in request.args.items(multi=True) if pair[1]]
    template = dict(given).get(TEMPLATE, "")
    if template in described["paths"]:
        parts = {f"{{{key}}}": quote(text, safe="") for key, text in given}
        path = re.sub(r"{\w+}", lambda part: parts.get(part[0], "-"), template)
        kept = [(key, text) for key, text in given if f"{{{key}}}" not in template and key not in (TEMPLATE, MORE)]
        return redirect(address(path, [*parse_qsl(dict(given).get(MORE, "")), *kept]), 303)
    groups: dict[str, list[Schema]] = {}
    shared = {key_form(key, kind) for key, kind in Selection.kinds().items()} | {addresses.VERSION, SELECTION}
    selection: dict[str, Schema] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            selected = any(one["name"] == addresses.VERSION for one in operation["parameters"])
            if selected:
                selection |= {one["name"]: one for one in operation["parameters"] if one["name"] in shared}
            own = [one for one in operation["parameters"] if not (selected and one["name"] in shared)]
            entry = {"method": method.upper(), "path": path, "id": operation["operationId"], "parameters": own}
            more = {"selected": selected, "summary": operation["summary"], "description": operation["description"]}
            groups.setdefault(re.split(r"[/.]", path.removeprefix("/api/v1/").lstrip("/"))[0], []).append(entry | more)
    keys, listed = list(selection.values()), dict(sorted(groups.items()))
    return plain_page(KEYS + PAGE, "Addresses", "page-docs", groups=listed, selection=keys, words=_words)


def _words(text: str) -> Markup:
    """Return text with the code between its backticks marked up."""
    escaped = str(escape(text))  # a plain text: Markup would escape what is put into it
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


ROUTES = {"/api": show_addresses}
