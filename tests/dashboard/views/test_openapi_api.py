"""The OpenAPI document holds every address, and each answer has the shape that it states."""

import re

import pytest
from jsonschema import Draft202012Validator

from dashboard.registry.addresses import ROUTES
from data.store.run_withdrawal import withdraw
from queries.selection.view_parameters_base import declared_fields

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


def test_answers_have_the_stated_shape(client, document):
    runs = [run["run"] for run in client.get("/api/v1/runs?dataset=pyramid").json["runs"]]
    model = client.get("/api/v1/models").json["models"][0]["model"]
    question = client.get("/api/v1/questions?dataset=pyramid").json["questions"][0]["question_id"]
    parts = {"dataset": "pyramid", "question_id": question, "run_id": runs[0], "name": model}
    checked = 0
    for route in ROUTES:
        path = route.address.removeprefix("GET ")
        if not route.answer or path.endswith(".csv"):
            continue
        keys = {"dataset": "pyramid"} if route.selection and "<dataset>" not in path else {}
        needed = {field.name for field in declared_fields(route.takes) if field.required}
        keys |= {"a": runs[0], "b": runs[1]} if "a" in needed else {}
        answer = client.get(PART.sub(lambda part: parts[part[1]], path), query_string=keys)
        assert answer.status_code == 200, (path, answer.text)
        stated = document["paths"][PART.sub(r"{\1}", path)]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert stated, path
        Draft202012Validator(stated | {"components": document["components"]}).validate(answer.json)
        checked += 1
    assert checked > 25


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
