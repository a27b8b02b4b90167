"""The OpenAPI document holds every address, and each answer has the shape that it states."""

import re
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

import pytest
from jsonschema import Draft202012Validator

from clueline.dashboard.registry.addresses import ROUTES
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.selection.parameter_kinds import MetricChoice, MetricList

PART = re.compile(r"<(?:path:)?(\w+)>")  # a variable part of a Flask rule


@pytest.fixture(scope="module")
def document(client):
    return client.get("/api/v1/openapi.json").json


def test_it_has_every_address(document):
    stated = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert stated == {PART.sub(r"{\1}", route.address) for route in ROUTES}
    assert document["openapi"].startswith("3.1.")
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


def test_every_parameter_has_a_valid_schema(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert {part["name"] for part in operation["parameters"] if part["in"] == "path"} == set(re.findall(r"{(\w+)}", path))
            for parameter in operation["parameters"]:
                Draft202012Validator.check_schema(parameter["schema"])


def test_examples_are_answered_in_the_stated_shape(client, document):
    """They are of the bundled dataset, at every readable address, and need no key that is not stated."""
    checked = Counter()
    for path, methods in document["paths"].items():
        stated = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        for media, content in stated.items():
            if "examples" not in content:
                assert path in ("/login", "/login/oidc/done", "/healthz", "/readyz", "/api/v1/selections/{selection_id}")
                continue
            link = content["examples"]["sample"]["externalValue"]
            answer = client.get(link)
            if path in ("/api/v1/audit", "/api/v1/datasets/{dataset}/readers", "/api/v1/mappings", "/api/v1/sessions"):
                assert answer.json["error"]["code"] == "no_token"
                continue
            assert (answer.status_code, answer.mimetype) == (200, media), (link, answer.text)
            checked[media] += 1
            if content.get("schema"):
                Draft202012Validator(content["schema"] | {"components": document["components"]}).validate(answer.json)
    assert checked["application/json"] > 35 and checked["text/csv"] > 30, checked


def test_examples_of_keys_are_values_of_the_dataset(client, document):
    keys = {one["name"]: one["example"] for one in document["paths"]["/api/v1/compare"]["get"]["parameters"] if "example" in one}
    assert {"dataset", "run", "model", "elicitation", "category", "subcategory", "a", "b"} <= {*keys}
    for key in keys.keys() - {"dataset", "a", "b"}:
        assert client.get("/api/v1/questions", query_string={"dataset": keys["dataset"], key: keys[key]}).status_code == 200, key


def test_no_address_states_a_metric_that_it_refuses(client, document):
    checked = 0
    for route in ROUTES:
        keys = {key: kind for key, kind in route.takes.kinds().items() if isinstance(kind, MetricChoice | MetricList)}
        if not route.view or route.address.endswith(".csv"):
            continue
        for key, kind in keys.items():
            operation = document["paths"][PART.sub(r"{\1}", route.address.removeprefix("GET "))]["get"]
            sample = urlsplit(operation["responses"]["200"]["content"]["application/json"]["examples"]["sample"]["externalValue"])
            (stated,) = (Draft202012Validator(one["schema"]) for one in operation["parameters"] if one["name"] == key)
            metrics = [metric.key for metric in kind.metrics]
            few = [("q", "nowhere")] if route.selection else [("datasets", "tone")] * ("datasets" in route.takes.kinds())
            for value in [",".join(metrics)] if kind.repeatable else metrics:
                answer = client.get(sample.path, query_string=[*parse_qsl(sample.query), *few, (key, value)])
                assert answer.status_code == 200 and stated.is_valid([value] if kind.repeatable else value), (sample, value)
            assert not stated.is_valid(["beauty"] if kind.repeatable else "beauty")
            checked += 1
    assert checked > 12


@pytest.mark.parametrize("path", ["leaderboard", "leaderboard.csv"])
def test_an_answer_that_the_client_has_is_not_sent_again(fresh, path):
    address = f"/api/v1/{path}?dataset=tone"
    first = fresh.client.get(address)
    again = fresh.client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"") and first.data
    run = fresh.client.get("/api/v1/runs?dataset=tone").json["runs"][0]["run"]
    withdraw(fresh.service.store, run, None)
    changed = fresh.client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status_code == 200 and changed.data != first.data


def test_people_see_every_address_and_try_it(client, document):
    page = client.get("/api")
    assert (page.status_code, page.mimetype) == (200, "text/html") and "<script" not in page.text.partition("<body>")[2]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page.text and f'id="{operation["operationId"]}"' in page.text
    keys = {"metrics": "ece", "intervals": "", "more": "dataset=tone&binning=mass15"}
    assert "<code>pool=</code>" in page.text and "&lt;code&gt;" not in page.text
    tried = client.get("/api", query_string={"address": "/api/v1/leaderboard", **keys}, follow_redirects=True)
    assert tried.json == client.get("/api/v1/leaderboard?dataset=tone&binning=mass15&metrics=ece").json
    part = client.get("/api", query_string={"address": "/api/v1/runs/{run_id}", "run_id": "a/../b"})
    assert part.headers["Location"] == "/api/v1/runs/a%2F..%2Fb"
    assert client.get("/api?address=//elsewhere.example/").status_code == 200, "no other address is opened"


def test_generators_of_clients_can_read_every_schema(document):
    """They refuse ``items: false``, which JSON Schema allows beside the parts of a tuple; ``maxItems`` says the same."""
    tuples = []

    def walk(schema):
        if isinstance(schema, dict):
            assert schema.get("items") is not False, schema
            tuples.extend([schema] if "prefixItems" in schema else [])
        for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
            walk(part)

    walk(document)
    assert tuples and all(schema["maxItems"] == len(schema["prefixItems"]) for schema in tuples)
