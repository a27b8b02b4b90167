"""Reads JSON addresses: responses, errors and CSV, the shapes of responses, and invalid values of keys."""

import csv
import io
import json
from types import NoneType

import msgspec

TEXT, COUNT, NUMBER, FLAG = (str,), (int,), (int, float), (bool,)
MAYBE_TEXT, MAYBE_NUMBER = (*TEXT, NoneType), (*NUMBER, NoneType)


class Each:
    """Any number of keys whose values all have one shape."""

    def __init__(self, shape):
        self.shape = shape


CELL = {name: MAYBE_NUMBER for name in ("value", "low", "high", "rank", "rank_low", "rank_high")} | {"missing": MAYBE_TEXT}
RUN_ROW = {
    "run": TEXT, "model": TEXT, "elicitation": TEXT, "questions": COUNT, "items": COUNT, "failed": COUNT, "metrics": Each(CELL),
}  # fmt: skip
LEADERBOARD = {
    "data_version": TEXT, "selection": Each([TEXT]), "questions": COUNT, "clues": COUNT,
    "common": MAYBE_NUMBER, "common_clues": MAYBE_NUMBER, "primary": TEXT, "other_metrics": COUNT,
    "gradings": {"disputed": COUNT, "share": NUMBER, "metric": TEXT, "leaders": []},
    "rows": [RUN_ROW | {"answered": COUNT, "answered_clues": COUNT, "ranked": FLAG, "note": MAYBE_TEXT}],
}  # fmt: skip

# Every key of a selection with an invalid value: the code of the error, and the allowed values if they are a list.
BAD_VALUES = [
    ("dataset", "nowhere", "unknown_value", ["pyramid", "lifeeval", "tone"]),
    ("run", "0123", "unknown_value", None),
    ("model", "GPT", "unknown_value", None),
    ("elicitation", "logit", "unknown_value", ["softmax", "margin"]),
    ("tag.reasoning", "yes", "unknown_key", []),
    ("attr.language", "fr", "unknown_key", []),
    ("category", "Cookery", "unknown_value", ["Arts", "Geography", "History", "Literature", "Science", "Social Science"]),
    ("category", "", "unknown_value", None),
    ("subcategory", "Soups", "unknown_value", None),
    ("radius", "5", "unknown_value", []),
    ("grading", "mine", "unknown_value", ["graded"]),
    ("people", "nobody", "unknown_value", ["imported"]),
    ("cluster", "packet", "unknown_value", ["question"]),
    ("difficulty", "hard", "bad_value", []),
    ("difficulty", "0.5", "bad_value", []),
    ("difficulty", "0.9..0.1", "bad_value", []),
    ("difficulty", "0..1.5", "bad_value", []),
    ("difficulty", "-0.5..1", "bad_value", []),
    ("difficulty", "nan..1", "bad_value", []),
    ("difficulty", "0..0.5..1", "bad_value", []),
    ("difficulty", "", "bad_value", []),
    ("revealed", "..0.5", "bad_value", []),
    ("revealed", "0..inf", "bad_value", []),
    ("q", "x" * 501, "bad_value", []),
    ("binning", "width7", "unknown_value", ["width10", "width10r", "width10+1", "mass15"]),
    ("binning", "mass1", "unknown_value", None),
    ("binning", "mass101", "unknown_value", None),
    ("human", "everyone", "unknown_value", ["buzz_share", "release_share", "team_share", "survival"]),
    ("failed", "yes", "unknown_value", ["0", "1"]),
    ("undisputed", "yes", "unknown_value", ["0", "1"]),
    ("t", "1", "bad_value", []),
    ("t", "half", "bad_value", []),
    ("beta", "0", "bad_value", []),
    ("beta", "-1", "bad_value", []),
    ("beta", "1e999", "bad_value", []),
    ("beta", "two", "bad_value", []),
    ("common", "2", "unknown_value", ["0", "1", "all"]),
]


def misshapen(value, shape, where="answer"):
    """Return where a value does not have a shape: missing keys and wrong types. Further keys are allowed."""
    if isinstance(shape, tuple):
        fits = isinstance(value, shape) and (bool in shape or not isinstance(value, bool))
        return [] if fits else [f"{where} is {value!r}"]
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return [] if value == [] else [f"{where} is no list"]
        return [wrong for index, element in enumerate(value) for wrong in misshapen(element, shape[0], f"{where}[{index}]")]
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    if isinstance(shape, Each):
        return [wrong for key, element in value.items() for wrong in misshapen(element, shape.shape, f"{where}.{key}")]
    missing = [f"{where} has no {key}" for key in shape if key not in value]
    return missing + [
        wrong for key, part in shape.items() if key in value for wrong in misshapen(value[key], part, f"{where}.{key}")
    ]


def get(client, address, status=200):
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    return answer.json


def error(client, address, status):
    """Return the error envelope of an address, after checking its form."""
    answer = get(client, address, status)
    assert list(answer) == ["error"]
    more = {"rules_changed"} if answer["error"]["code"] == "data_changed" else set()
    assert set(answer["error"]) == {"code", "message", "field", "allowed", "rows"} | more
    assert not misshapen(answer["error"], {"code": TEXT, "message": TEXT, "field": MAYBE_TEXT, "allowed": [TEXT]})
    return answer["error"]


def plain(answer):
    return json.loads(msgspec.json.encode(answer))


def table(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))
