"""docs/api.md compared with the app: its tables are generated from the app and have every address and key, and no others."""

import re
from typing import Annotated
from urllib.parse import quote, urlencode

import pytest

from dashboard.cli import api_docs as docs_generator
from dashboard.registry.pages import PAGES
from dashboard.views.upload import DatasetUploadParameters
from queries.selection import Selection
from queries.selection.parameter_kinds import Text
from queries.selection.view_parameters_base import Parameters, key_forms
from tests.helpers.json_api import error, get
from tests.helpers.paths import ROOT

KEYS, KEYS_OF_UPLOADS = key_forms(Selection.kinds()), key_forms(DatasetUploadParameters.kinds())
ROW = re.compile(r"^\| (`[A-Z]+ /.*?`) \|.*\|(.*)\|$", re.MULTILINE)
REQUIRED = {"/api/v1/compare": ("a", "b"), "/api/v1/power": ("a", "b")}  # runs that an address must name


def documented():
    """Return address -> the keys that it takes."""
    documented_keys = {}
    for cell, takes in ROW.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")):
        keys = {*re.findall(r"`([^`]+)`", takes), *(KEYS if "selection" in takes else ())}
        for address in re.findall(r"`([^`]+)`", cell):
            assert address not in documented_keys, f"{address} stands there twice"
            documented_keys[address] = keys
    return documented_keys


def addresses(app):
    """Return the addresses of the JSON blueprint and the login page, written as in the documentation."""
    return {
        f"{method} {re.sub('<[a-z]+:', '<', str(rule))}"
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith(("api.", "login")) and rule.endpoint != "api.unknown_address"
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }


TEXT = docs_generator.PATH.read_text(encoding="utf-8")


def test_the_tables_are_written_by_the_app(app):
    assert docs_generator.write_tables(TEXT) == TEXT, "run python -m dashboard.cli.api_docs"


def test_a_new_address_or_key_is_noticed(app, monkeypatch):
    class ColourParameters(Parameters, frozen=True):
        colour: Annotated[str, Text("which colour")] = ""

    route = docs_generator.Route("GET /api/v1/colours", "Colours.", ColourParameters)
    monkeypatch.setattr(docs_generator, "ROUTES", [*docs_generator.ROUTES, route])
    rewritten = docs_generator.write_tables(TEXT)
    assert rewritten != TEXT
    assert "| `GET /api/v1/colours` | Colours. | `colour` |" in rewritten
    assert "| `colour` | which colour | `/api/v1/colours` |" in rewritten


def test_a_missing_place_for_a_table_is_an_error(app):
    with pytest.raises(ValueError, match="keys of pages"):
        docs_generator.write_tables(TEXT.replace("<!-- keys of pages, generated -->", ""))


def test_every_key_has_a_meaning(app):
    structs = [Selection, *(route.takes for route in docs_generator.ROUTES), *(page.parameters for page in PAGES.values())]
    assert all(kind.about for struct in structs for kind in struct.kinds().values())


def test_every_address_is_documented(app):
    assert addresses(app) - set(documented()) == set()


def test_every_documented_address_is_there(app):
    assert set(documented()) - addresses(app) == set()


ASKED = sorted(address.removeprefix("GET ") for address in documented() if address.startswith("GET /api/"))


@pytest.fixture(scope="module")
def holder(app):
    """A client that sends a token, which some addresses need."""
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {app.extensions['clueline'].access.tokens.create('reader', 'admin')}"
    return client


@pytest.mark.parametrize("address", ASKED)
def test_it_takes_the_documented_keys_and_no_others(holder, address):
    """Each address refuses an unknown key and lists the keys that it takes."""
    parts = {"dataset": "pyramid", "question_id": "lit-01", "run_id": get(holder, "/api/v1/runs")["runs"][0]["run"]}
    path = re.sub("<([a-z_]+)>", lambda part: quote(parts[part[1]]), address)
    named = REQUIRED.get(address.removesuffix(".csv"), ())
    runs = [run["run"] for run in get(holder, "/api/v1/runs?dataset=pyramid")["runs"]]
    assert holder.get(f"{path}?{urlencode(dict(zip(named, runs, strict=False)))}").status_code == 200
    problem = error(holder, f"{path}?colour=red", 400)
    assert (problem["code"], problem["field"]) == ("unknown_key", "colour")
    assert set(problem["allowed"]) == documented()[f"GET {address}"]


def test_the_keys_of_an_upload_are_documented():
    assert documented()["POST /api/v1/runs"] == set(KEYS_OF_UPLOADS) - {"title"}
    assert documented()["POST /api/v1/datasets"] == set(KEYS_OF_UPLOADS)
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    section = text[text.index("## Uploading") : text.index("| status |")]
    first = [cell for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", row)]
    assert sorted(first) == sorted(KEYS_OF_UPLOADS)


def test_every_key_of_the_selection_is_documented():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    section = text[text.index("## The selection") : text.index("## What there is")]
    first = [cell for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", row)]
    assert sorted(first) == sorted(KEYS)


def test_the_readme_links_to_the_document():
    assert "(docs/api.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
