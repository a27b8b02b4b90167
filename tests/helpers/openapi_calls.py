"""Calls every readable address as the OpenAPI document describes it, with drawn keys, and checks each answer by it."""

import re
import warnings
from collections import Counter

import schemathesis
from hypothesis import HealthCheck, Phase, given, strategies
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
DOCUMENT = "/api/v1/openapi.json"
PLAIN = {"Accept-Encoding": "identity"}  # schemathesis does not unpack zstd


def values_of(client):
    """Return values of keys that the store knows, which chance would not find."""
    runs = [run["run"] for run in client.get("/api/v1/runs?dataset=pyramid").json["runs"]]
    return {
        "dataset": ["pyramid", "tone", "lifeeval"], "run": runs[:3], "a": runs[:2], "b": runs[1:3], "run_id": runs[:2],
        "question_id": ["lit-01", "sci-01"], "name": ["BM25"], "view": ["/?dataset=pyramid", "/reliability?dataset=tone"],
        "metrics": ["brier,ece"], "selection": ["a" * 20],
    }  # fmt: skip


def call_every_address(app, settings):
    """Call each GET address with as many drawn cases as Hypothesis' ``settings`` say.

    Nine in ten values of keys in ``values_of`` are of those. Returns how often each status was answered, and what is wrong at
    which address.
    """
    statuses, faults = Counter(), {}
    known = values_of(app.test_client())
    warnings.simplefilter("ignore")
    for listed in schemathesis.openapi.from_wsgi(DOCUMENT, app).get_all_operations():
        operation = listed.ok()
        if operation.method.upper() != "GET":
            continue

        @given(case=operation.as_strategy(), data=strategies.data())
        @settings
        def call(case, data):
            for part in (case.query, case.path_parameters):
                for key in [*(part or {})]:
                    if key in known and data.draw(strategies.integers(0, 9)):
                        part[key] = data.draw(strategies.sampled_from(known[key]))
            answer = case.call(headers=PLAIN)
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

        try:
            call()
        except (BaseExceptionGroup, Exception) as error:
            faults[operation.label] = re.sub(r"\n+", "\n", str(error))[:1500]
    return statuses, faults


def drawing(settings):
    """Return settings of Hypothesis without its report of slow or filtered cases, and without shrinking, which costs more."""
    return type(settings)(settings, suppress_health_check=[*HealthCheck], phases=[Phase.generate])
