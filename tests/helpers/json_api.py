"""Reads JSON addresses: responses, errors and CSV."""

import csv
import io
import json

import msgspec


def get(client, address, status=200, **more):
    answer = client.get(address, **more)
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    return answer.json


def error(client, address, status):
    """Return the error envelope of an address, after checking its form."""
    answer = get(client, address, status)
    assert list(answer) == ["error"]
    problem = answer["error"]
    more = {"rules_changed"} if problem["code"] == "data_changed" else set()
    assert set(problem) == {"code", "message", "field", "allowed", "rows"} | more
    assert isinstance(problem["field"], str | None) and all(isinstance(text, str) for text in problem["allowed"])
    assert problem["code"] and problem["message"]
    return problem


def plain(answer):
    return json.loads(msgspec.json.encode(answer))


def table(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))
